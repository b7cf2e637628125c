#include "kernels/quantized/binary.h"
#include "kernels/quantized/operators.h"

namespace rushlight::quantized {

void add_out(KernelRuntimeContext& context, const Tensor& a, double a_scale, int64_t a_zero, int64_t, int64_t,
             const Tensor& b, double b_scale, int64_t b_zero, int64_t, int64_t, double scale, int64_t zero,
             int64_t quant_min, int64_t quant_max, Tensor& out) {
  if (!require_output(context, out, quant_min, quant_max)) return;
  binary_elements(
      context, {a, a_scale, a_zero}, {b, b_scale, b_zero}, {scale, zero, quant_min, quant_max}, out,
      [](float x, float y) { return x + y; }, cortex_m::kHasInt8 ? &cortex_m::add : nullptr);
}

}  // namespace rushlight::quantized
