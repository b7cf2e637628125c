#include "kernels/optimized/softmax_rows.h"

#include <algorithm>
#include <limits>

#include "kernels/optimized/layout.h"
#include "kernels/optimized/reduce_dims.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/shape.h"
#include "microkernels/tables/f32.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

using microkernels::BinaryOp;
using microkernels::UnaryOp;

namespace {

constexpr int64_t kGrain = 4 * 1024;
constexpr int64_t kChunk = 64;
// Maximum bytes of the float32 copy of some columns.
constexpr int64_t kCopyBytes = 256 * 1024;
// If the rows have at least kBlockColumns columns, blocks of kRows rows are processed in memory order.
constexpr int64_t kBlockColumns = 512;
constexpr int64_t kRows = 8;
// Columns of one task in this case. This number is large enough for long contiguous reads.
constexpr int64_t kTaskColumns = 2048;

// Computes columns of long rows in memory order. A first pass over the rows computes, for each column, the largest
// number so far and the sum of exponentials, which is rescaled if the largest number changes (Milakov and Gimelshein,
// "Online normalizer calculation for softmax"). A second pass writes the results.
class SoftmaxInRowOrder {
 public:
  SoftmaxInRowOrder(bool logarithm, const Tensor& in, const ReductionShape& shape, const Tensor& out)
      : logarithm_(logarithm),
        in_(in),
        shape_(shape),
        out_(out),
        load_(load_function(in.scalar_type(), ScalarType::Float)),
        store_(store_function(ScalarType::Float, out.scalar_type())) {}

  // Computes the columns from the element `first` on, at most kTaskColumns.
  void compute(int64_t first, int64_t width) const {
    float rows[kRows * kBlockColumns], maxima[kTaskColumns], sums[kTaskColumns];
    // The initial value is not -infinity, because the difference of two infinities is NaN.
    std::fill(maxima, maxima + width, std::numeric_limits<float>::lowest());
    std::fill(sums, sums + width, 0.0f);
    for (int64_t r = 0; r < shape_.reduced; r += kRows) {
      const int64_t count = std::min(kRows, shape_.reduced - r);
      for (int64_t j = 0; j < width; j += kBlockColumns) {
        add_block(first + r * shape_.inner + j, count, std::min(kBlockColumns, width - j), maxima + j, sums + j, rows);
      }
    }
    kernels_.unary(logarithm_ ? UnaryOp::Log : UnaryOp::Reciprocal, sums, sums, width, 0, 0);
    for (int64_t r = 0; r < shape_.reduced; ++r) {
      for (int64_t j = 0; j < width; j += kBlockColumns) {
        write_block(first + r * shape_.inner + j, std::min(kBlockColumns, width - j), maxima + j, sums + j, rows);
      }
    }
  }

 private:
  // Updates the maxima and sums of n columns by `count` rows, which begin at the element `first`. Copies them to
  // `rows`.
  void add_block(int64_t first, int64_t count, int64_t n, float* maxima, float* sums, float* rows) const {
    float scales[kBlockColumns];
    for (int64_t i = 0; i < count; ++i) load_(at(in_, first + i * shape_.inner), 1, rows + i * kBlockColumns, 1, n);
    std::copy(maxima, maxima + n, scales);
    kernels_.reduce_rows(BinaryOp::Maximum, rows, kBlockColumns, count, maxima, n);
    kernels_.binary(BinaryOp::Sub, scales, 1, maxima, 1, scales, n, 0);
    kernels_.unary(UnaryOp::Exp, scales, scales, n, 0, 0);
    kernels_.binary(BinaryOp::Mul, sums, 1, scales, 1, sums, n, 0);
    for (int64_t i = 0; i < count; ++i) {
      float* const row = rows + i * kBlockColumns;
      kernels_.binary(BinaryOp::Sub, row, 1, maxima, 1, row, n, 0);
      kernels_.unary(UnaryOp::Exp, row, row, n, 0, 0);
    }
    kernels_.reduce_rows(BinaryOp::Add, rows, kBlockColumns, count, sums, n);
  }

  // Writes n results of one row. `factors` are the reciprocals of the sums, or their logarithms for log_softmax. `row`
  // is scratch memory.
  void write_block(int64_t first, int64_t n, const float* maxima, const float* factors, float* row) const {
    load_(at(in_, first), 1, row, 1, n);
    kernels_.binary(BinaryOp::Sub, row, 1, maxima, 1, row, n, 0);
    if (!logarithm_) kernels_.unary(UnaryOp::Exp, row, row, n, 0, 0);
    kernels_.binary(logarithm_ ? BinaryOp::Sub : BinaryOp::Mul, row, 1, factors, 1, row, n, 0);
    store_(row, 1, at(out_, first), 1, n);
  }

  const bool logarithm_;
  const Tensor& in_;
  const ReductionShape& shape_;
  const Tensor& out_;
  const Convert load_, store_;
  const microkernels::F32Microkernels& kernels_ = microkernels::f32_microkernels();
};

void softmax_in_row_order(KernelRuntimeContext& context, bool logarithm, const Tensor& in, const ReductionShape& f,
                          const Tensor& out) {
  const SoftmaxInRowOrder softmax(logarithm, in, f, out);
  const int64_t chunks = (f.inner + kTaskColumns - 1) / kTaskColumns;
  context.parallel_for(0, f.outer * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % chunks * kTaskColumns;
      softmax.compute(task / chunks * f.reduced * f.inner + column, std::min(kTaskColumns, f.inner - column));
    }
  });
}

// Copies some columns to float32, computes their softmax, and copies the results back.
bool softmax_columns(KernelRuntimeContext& context, bool logarithm, const Tensor& in, const ReductionShape& f,
                     const Tensor& out) {
  if (f.inner >= kBlockColumns) {
    softmax_in_row_order(context, logarithm, in, f, out);
    return true;
  }
  const int64_t fitting = kCopyBytes / static_cast<int64_t>(sizeof(float)) / f.reduced;
  const int64_t width = std::min<int64_t>(f.inner, std::clamp<int64_t>(fitting / 16 * 16, 16, 256));
  const int64_t chunks = (f.inner + width - 1) / width;
  const int64_t workers = in.numel() < kGrain ? 1 : microkernels::worker_count(context);
  float* const copies = context.allocate_temporary_array<float>(static_cast<size_t>(workers * f.reduced * width));
  if (copies == nullptr) return true;
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  const Convert store = store_function(ScalarType::Float, out.scalar_type());
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  microkernels::for_workers(context, workers, f.outer * chunks, [&](int64_t worker, int64_t begin, int64_t end) {
    float* const copy = copies + worker * f.reduced * width;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % chunks * width, n = std::min(width, f.inner - column);
      const int64_t first = i / chunks * f.reduced * f.inner + column;
      for (int64_t r = 0; r < f.reduced; ++r) load(at(in, first + r * f.inner), 1, copy + r * width, 1, n);
      kernels.softmax_columns(logarithm, copy, copy, f.reduced, width, n);
      for (int64_t r = 0; r < f.reduced; ++r) store(copy + r * width, 1, at(out, first + r * f.inner), 1, n);
    }
  });
  return true;
}

// Supports rows of float16 or bfloat16. The output has the same dtype or float32.
bool softmax_f16(KernelRuntimeContext& context, bool logarithm, const Tensor& in, DimMask mask, const Tensor& out) {
  ReductionShape f;
  if ((out.scalar_type() != in.scalar_type() && !is_float(out)) || !reduction_shape(in, mask, &f) || f.reduced == 1) {
    return false;
  }
  if (!resize_out_like(context, out, in)) return true;
  if (!is_row_major(out)) return false;
  if (f.inner != 1) return softmax_columns(context, logarithm, in, f, out);
  const int64_t workers = in.numel() < kGrain ? 1 : microkernels::worker_count(context);
  float* const rows = context.allocate_temporary_array<float>(static_cast<size_t>(workers * f.reduced));
  if (rows == nullptr) return true;
  const Convert load = load_function(in.scalar_type(), ScalarType::Float);
  const Convert store = store_function(ScalarType::Float, out.scalar_type());
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  microkernels::for_workers(context, workers, f.outer, [&](int64_t worker, int64_t begin, int64_t end) {
    float* const row = rows + worker * f.reduced;
    for (int64_t i = begin; i < end; ++i) {
      load(at(in, i * f.reduced), 1, row, 1, f.reduced);
      kernels.softmax(logarithm, row, row, f.reduced);
      store(row, 1, at(out, i * f.reduced), 1, f.reduced);
    }
  });
  return true;
}

}  // namespace

bool softmax_over(KernelRuntimeContext& context, bool logarithm, const Tensor& in, int64_t dim, const Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis)) return true;
  ReductionShape f;
  const DimMask mask = in.dim() == 0 ? 0 : DimMask(1) << axis;
  if (dtypes::kHalf.contains(in.scalar_type())) return softmax_f16(context, logarithm, in, mask, out);
  if (!is_float(out) || !float_reduction_shape(in, mask, &f)) return false;
  if (!resize_out_like(context, out, in)) return true;
  if (!is_row_major(out)) return false;
  if (f.reduced == 1) f = {in.numel(), 1, 1};
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const float* x = in.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  if (f.inner == 1) {
    context.parallel_for(0, f.outer, std::max<int64_t>(1, kGrain / f.reduced), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) kernels.softmax(logarithm, x + i * f.reduced, y + i * f.reduced, f.reduced);
    });
    return true;
  }
  if (f.inner >= kBlockColumns && f.reduced >= kChunk) {
    softmax_in_row_order(context, logarithm, in, f, out);
    return true;
  }
  const int64_t chunks = (f.inner + kChunk - 1) / kChunk;
  const int64_t work = f.reduced * std::min(kChunk, f.inner);
  context.parallel_for(0, f.outer * chunks, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % chunks * kChunk;
      const int64_t offset = i / chunks * f.reduced * f.inner + column;
      kernels.softmax_columns(logarithm, x + offset, y + offset, f.reduced, f.inner,
                              std::min(kChunk, f.inner - column));
    }
  });
  return true;
}

}  // namespace rushlight::optimized
