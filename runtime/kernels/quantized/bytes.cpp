#include "kernels/quantized/bytes.h"

#include "kernels/quantized/affine_loop.h"

namespace rushlight::quantized {

bool require_output(KernelRuntimeContext& context, const Tensor& out, int64_t least, int64_t most) {
  if (!is_byte(out)) {
    context.fail(Error::InvalidType, "out has elements of %s, not int8 or uint8", dtype_name(out.scalar_type()));
    return false;
  }
  return require_range(context, least, most, out.scalar_type());
}

cortex_m::Int8Channel* channels_on_cortex_m(KernelRuntimeContext& context, int64_t outputs, const RealParts& parts) {
  auto* const channels = context.allocate_temporary_array<cortex_m::Int8Channel>(static_cast<size_t>(outputs));
  if (channels == nullptr) return nullptr;
  for (int64_t i = 0; i < outputs; ++i) {
    channels[i].factor = parts.factor(i);
    channels[i].offset = parts.offsets ? static_cast<float>(parts.offsets[i]) : 0;
    if (!cortex_m::is_usual(channels[i].factor) || !cortex_m::is_usual(channels[i].offset)) return nullptr;
  }
  return channels;
}

}  // namespace rushlight::quantized
