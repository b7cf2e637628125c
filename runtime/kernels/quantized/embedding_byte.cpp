#include "kernels/quantized/embedding.h"
#include "kernels/quantized/operators.h"

namespace rushlight::quantized {

void embedding_byte_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                        const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices,
                        Tensor& out) {
  embed(context, 8, weight, scales, zero_points, indices, std::nullopt, out);
}

void embedding_byte_dtype_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices,
                              std::optional<ScalarType> dtype, Tensor& out) {
  embed(context, 8, weight, scales, zero_points, indices, dtype, out);
}

}  // namespace rushlight::quantized
