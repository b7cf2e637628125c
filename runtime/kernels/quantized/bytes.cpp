#include "kernels/quantized/bytes.h"

#include <cstring>

#include "kernels/quantized/affine_loop.h"

namespace rushlight::quantized {

namespace {

// Converts to float32. Processors with 32-bit registers convert an int32 in one instruction.
float to_float(int64_t number) {
  const auto narrow = static_cast<int32_t>(number);
  return narrow == number ? static_cast<float>(narrow) : static_cast<float>(number);
}

// Returns static_cast<float>(1.0 / scale).
float inverse_of(double scale) {
  // If the scale is a float32 number, a division in float32 gives the same bits: double has more than twice as many
  // bits as float32, so that rounding to double first does not change the result. Most microcontrollers divide float32
  // numbers in hardware, but not double numbers.
  // The conversion copies bits, because these processors have no instruction for it. It needs a positive number that is
  // normal in float32 and has zeros in the bits that float32 does not have.
  uint64_t bits;
  std::memcpy(&bits, &scale, sizeof(bits));
  const auto high = static_cast<uint32_t>(bits >> 32), low = static_cast<uint32_t>(bits);
  if (low << 3 != 0 || (high >> 20) - 897 > 253) return static_cast<float>(1.0 / scale);
  const uint32_t narrow_bits = (high & 0x40000000) | ((high << 3 | low >> 29) & 0x3fffffff);
  float narrow;
  std::memcpy(&narrow, &narrow_bits, sizeof(narrow));
  return 1.0f / narrow;
}

}  // namespace

Requantizer::Requantizer(double scale, int64_t zero_point, int64_t minimum, int64_t maximum)
    : inverse(inverse_of(scale)),
      zero(to_float(zero_point)),
      quant_min(to_float(minimum)),
      quant_max(to_float(maximum)) {}

#if defined(RL_CORTEX_M_INT8)
bool set_output(double scale, int64_t zero_point, int64_t minimum, int64_t maximum, cortex_m::Int8Output* output) {
  constexpr int32_t kMax = 1 << 20;
  const auto zero = static_cast<int32_t>(zero_point);
  const float inverse = inverse_of(scale);
  if (zero != zero_point || zero < -kMax || zero > kMax || inverse == 0 || !cortex_m::is_usual(inverse)) return false;
  *output = {inverse, zero, static_cast<int32_t>(minimum) - zero, static_cast<int32_t>(maximum) - zero};
  return true;
}
#endif

bool require_input(KernelRuntimeContext& context, const Tensor& in, int64_t zero) {
  if (!is_byte(in)) {
    context.fail(Error::InvalidType, "the input is %s, not int8 or uint8", dtype_name(in.scalar_type()));
    return false;
  }
  if (zero != static_cast<int16_t>(zero)) {
    context.fail(Error::InvalidArgument, "the zero point of the input is %lld, which does not fit into 16 bits",
                 static_cast<long long>(zero));
    return false;
  }
  return true;
}

bool require_output(KernelRuntimeContext& context, const Tensor& out, int64_t quant_min, int64_t quant_max) {
  if (!is_byte(out)) {
    context.fail(Error::InvalidType, "out has elements of %s, not int8 or uint8", dtype_name(out.scalar_type()));
    return false;
  }
  return require_range(context, quant_min, quant_max, out.scalar_type());
}

cortex_m::ScratchMemory cortex_m_scratch(KernelRuntimeContext& context) {
  const auto allocate = [](void* owner, size_t bytes) {
    auto& kernel = *static_cast<KernelRuntimeContext*>(owner);
    void* const memory = kernel.allocate_temporary(bytes);
    kernel.clear();
    return memory;
  };
  return {allocate, &context};
}

}  // namespace rushlight::quantized
