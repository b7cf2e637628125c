#include "kernels/quantized/bytes.h"

#include "kernels/quantized/affine_loop.h"

namespace rushlight::quantized {

bool require_output(KernelRuntimeContext& context, const Tensor& out, int64_t quant_min, int64_t quant_max) {
  if (!is_byte(out)) {
    context.fail(Error::InvalidType, "out has elements of %s, not int8 or uint8", dtype_name(out.scalar_type()));
    return false;
  }
  return require_range(context, quant_min, quant_max, out.scalar_type());
}

cortex_m::Int8Channel* cortex_m_channels(KernelRuntimeContext& context, int64_t outputs,
                                         const OutputParameters& parameters) {
  auto* const channels = context.allocate_temporary_array<cortex_m::Int8Channel>(static_cast<size_t>(outputs));
  if (channels == nullptr) return nullptr;
  for (int64_t i = 0; i < outputs; ++i) {
    channels[i].factor = parameters.factor(i);
    channels[i].offset = parameters.bias ? static_cast<float>(parameters.bias[i]) : 0;
    if (!cortex_m::is_usual(channels[i].factor) || !cortex_m::is_usual(channels[i].offset)) return nullptr;
  }
  return channels;
}

}  // namespace rushlight::quantized
