#include "kernels/optimized/index.h"
#include "kernels/optimized/layout.h"
#include "kernels/shared/gather_loop.h"
#include "kernels/shared/index_slices.h"
#include "microkernels/tables/f32.h"

namespace rushlight::optimized {

// Supports row-major float32.
bool index_add_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                   const Tensor& source, const Scalar& alpha, Tensor& out) {
  if (!is_row_major_float(in) || !is_row_major_float(source) || !is_float(out)) return false;
  int64_t axis;
  if (!begin_index_slices(context, in, dim, index, source, out, &axis)) return true;
  if (!is_row_major(out)) return false;
  const float scale = alpha.to<float>();
  const float* const from = source.const_data_ptr<float>();
  float* const to = out.mutable_data_ptr<float>();
  const IndexReader positions(index);
  const int64_t size = size_at(out, axis), count = index.numel();
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < out.dim(); ++d) inner *= out.size(d);
  const int64_t outer = out.numel() / (size * inner);
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  using microkernels::BinaryOp;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      float* const target = to + (o * size + positions[i]) * inner;
      const float* const given = from + (o * count + i) * inner;
      if (inner == 1) {
        *target += scale * *given;
      } else if (scale == 1) {
        kernels.binary(BinaryOp::Add, target, 1, given, 1, target, inner, 0);
      } else {
        kernels.binary(BinaryOp::AddScaled, target, 1, given, 1, target, inner, scale);
      }
    }
  }
  return true;
}

}  // namespace rushlight::optimized
