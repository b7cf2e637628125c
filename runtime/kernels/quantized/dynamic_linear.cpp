#include "kernels/quantized/dynamic.h"
#include "kernels/quantized/operators.h"

namespace rushlight::quantized {

void dynamic_linear_out(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight,
                        const Tensor& weight_scales, const std::optional<Tensor>& bias, bool per_token, bool symmetric,
                        int64_t quant_min, int64_t quant_max, double eps, Tensor& out) {
  dynamic_linear(context, in, weight, 8, weight_scales, bias, {per_token, symmetric, quant_min, quant_max, eps}, out);
}

}  // namespace rushlight::quantized
