#include "kernels/optimized/int8_gemm.h"

#include <algorithm>

#include "core/rounding.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

using microkernels::Int8Gemm;
using microkernels::Int8Microkernels;

namespace {

// With fewer multiplications than this, a second thread makes the product slower.
constexpr int64_t kSerialInt8Work = 2 * microkernels::kSerialWork;
// With at least this number of rows, the RHS is packed. For depths up to kShortDepth, fewer rows are enough.
constexpr int64_t kPackedRows = 64, kPackedRowsOfShortDepth = 12, kShortDepth = 64;
// Columns of one task.
constexpr int64_t kChunk = 16;

bool pack(KernelRuntimeContext& context, const Int8Microkernels& kernels, int64_t workers, Int8Gemm* p) {
  const size_t size = microkernels::packed_rhs_size(kernels, p->n, p->k);
  int8_t* const packed = context.allocate_temporary_array<int8_t>(size);
  int32_t* const corrections = context.allocate_temporary_array<int32_t>(static_cast<size_t>(p->n));
  if (packed == nullptr || corrections == nullptr) return false;
  const int64_t step = microkernels::column_step(kernels);
  microkernels::for_workers(context, workers, (p->n + step - 1) / step, [&](int64_t, int64_t begin, int64_t end) {
    microkernels::pack_columns(kernels, p->columns, p->column_stride, p->n, p->k, begin * step,
                               std::min(end * step, p->n), packed);
  });
  p->rhs = packed;
  if (p->out_kind == Int8Gemm::Out::Quantized) {
    microkernels::zero_corrections(kernels, packed, p->n, p->zeros[0], p->requantize.correction, corrections);
    p->requantize.correction = corrections;
  }
  return true;
}

}  // namespace

bool run_int8_gemm(KernelRuntimeContext& context, Int8Gemm p) {
  const Int8Microkernels& kernels = microkernels::int8_microkernels();
  if (p.m == 0 || p.n == 0) return true;
  const int64_t workers =
      p.m * p.n * std::max<int64_t>(p.k, 1) < kSerialInt8Work ? 1 : microkernels::worker_count(context);
  const int64_t packed_rows = p.k <= kShortDepth ? kPackedRowsOfShortDepth : kPackedRows;
  if (p.rhs == nullptr && p.m >= packed_rows && !pack(context, kernels, workers, &p)) return false;
  const int64_t scratch_size = round_up(static_cast<int64_t>(microkernels::gemm_scratch(kernels, p.k)), 64);
  uint8_t* const scratch = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(workers * scratch_size));
  if (scratch == nullptr) return false;
  // Divides whole tiles of rows among workers if there are enough of them, else columns.
  if (p.m >= 2 * kernels.rows * workers) {
    microkernels::for_workers(
        context, workers, (p.m + kernels.rows - 1) / kernels.rows, [&](int64_t w, int64_t begin, int64_t end) {
          microkernels::multiply(kernels, p, begin * kernels.rows, std::min(end * kernels.rows, p.m), 0, p.n,
                                 scratch + w * scratch_size);
        });
    return true;
  }
  const int64_t chunk = std::max(microkernels::column_step(kernels), kChunk);
  microkernels::for_workers(context, workers, (p.n + chunk - 1) / chunk, [&](int64_t w, int64_t begin, int64_t end) {
    microkernels::multiply(kernels, p, 0, p.m, begin * chunk, std::min(end * chunk, p.n), scratch + w * scratch_size);
  });
  return true;
}

}  // namespace rushlight::optimized
