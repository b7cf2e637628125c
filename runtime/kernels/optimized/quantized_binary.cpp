#include "kernels/optimized/quantized.h"
#include "kernels/optimized/quantized_arguments.h"
#include "kernels/quantized/binary.h"
#include "kernels/quantized/bytes.h"
#include "microkernels/tables/int8.h"

namespace rushlight::optimized {

namespace {

constexpr int64_t kGrain = 32 * 1024;

microkernels::Int8Operand operand(const quantized::Operand& from, const LoopNest& nest, int index) {
  return {from.tensor.const_data_ptr<uint8_t>(), nest.dim == 0 ? 1 : nest.inner_stride(index),
          sign_mask_of(from.tensor), static_cast<int32_t>(zero_of(from.tensor, from.zero)),
          static_cast<float>(from.scale)};
}

struct Int8Result {
  double scale;
  int64_t zero, quant_min, quant_max;
};

// Computes the product or sum of two quantized tensors with broadcasting. Returns false for unsupported arguments.
bool combine_quantized(KernelRuntimeContext& context, bool multiply, const quantized::Operand& a,
                       const quantized::Operand& b, const Int8Result& result, const Tensor& out) {
  for (const int64_t zero : {a.zero, b.zero, result.zero}) {
    if (!is_small_zero(zero)) return false;
  }
  if (!quantized::is_byte(a.tensor) || !quantized::is_byte(b.tensor)) return false;
  if (!quantized::require_output(context, out, result.quant_min, result.quant_max)) return true;
  Shape shape(a.tensor.sizes());
  if (!broadcast_shape(context, shape, b.tensor.sizes()) || !resize_out(context, out, shape.span())) return true;
  if (out.numel() == 0) return true;
  LoopNest nest = LoopNest::over(shape.span());
  nest.add(out);
  nest.add(a.tensor);
  nest.add(b.tensor);
  nest.sort_by(0);
  nest.collapse();
  const microkernels::Int8Operand left = operand(a, nest, 1), right = operand(b, nest, 2);
  if (nest.dim > 0 && (nest.inner_stride(0) != 1 || left.step > 1 || right.step > 1)) return false;
  const microkernels::Int8Range range{static_cast<int32_t>(result.zero), static_cast<int32_t>(result.quant_min),
                                      static_cast<int32_t>(result.quant_max)};
  const float inverse = static_cast<float>(1.0 / result.scale);
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_row(nest, begin, end, [&](const int64_t* at, int64_t n) {
      microkernels::Int8Operand x = left, y = right;
      x.data += at[1], y.data += at[2];
      kernels.combine(multiply, x, y, range, inverse, n, out.mutable_data_ptr<uint8_t>() + at[0]);
    });
  });
  return true;
}

}  // namespace

bool quantized_add_out(KernelRuntimeContext& context, const Tensor& a, double a_scale, int64_t a_zero, int64_t, int64_t,
                       const Tensor& b, double b_scale, int64_t b_zero, int64_t, int64_t, double scale, int64_t zero,
                       int64_t quant_min, int64_t quant_max, Tensor& out) {
  return combine_quantized(context, false, {a, a_scale, a_zero}, {b, b_scale, b_zero},
                           {scale, zero, quant_min, quant_max}, out);
}

bool quantized_mul_out(KernelRuntimeContext& context, const Tensor& a, double a_scale, int64_t a_zero, int64_t, int64_t,
                       const Tensor& b, double b_scale, int64_t b_zero, int64_t, int64_t, double scale, int64_t zero,
                       int64_t quant_min, int64_t quant_max, Tensor& out) {
  return combine_quantized(context, true, {a, a_scale, a_zero}, {b, b_scale, b_zero},
                           {scale, zero, quant_min, quant_max}, out);
}

}  // namespace rushlight::optimized
