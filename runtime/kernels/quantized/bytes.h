// 8-bit quantized tensors.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/shared/cortex_m.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

inline constexpr DtypeSet kBytes{ScalarType::Byte, ScalarType::Char};

inline bool is_byte(const Tensor& tensor) { return kBytes.contains(tensor.scalar_type()); }

// Reads int8 and uint8: converts a byte XOR `flip` to int8, and adds `offset`.
struct ByteReader {
  explicit ByteReader(const Tensor& tensor)
      : flip(tensor.scalar_type() == ScalarType::Byte ? 0x80 : 0), offset(flip ? 128 : 0) {}
  int32_t operator()(uint8_t byte) const { return static_cast<int8_t>(byte ^ flip) + offset; }
  uint8_t flip;
  int32_t offset;
};

// Computes clamp(round(real / scale) + zero, least, most).
struct Requantizer {
  Requantizer(double scale, int64_t zero_point, int64_t least_number, int64_t most_number)
      : inverse(static_cast<float>(1.0 / scale)),
        zero(static_cast<float>(zero_point)),
        least(static_cast<float>(least_number)),
        most(static_cast<float>(most_number)) {}
  uint8_t operator()(float real) const {
    const float x = std::nearbyint(real * inverse) + zero;
    const float clamped = x < least ? least : (x > most ? most : x);
    // NaN becomes 0, as in eager PyTorch.
    return clamped == clamped ? static_cast<uint8_t>(static_cast<int32_t>(clamped)) : uint8_t{0};
  }
  float inverse, zero, least, most;
};

// Converts the parameters for the loops for Cortex-M. Returns false if these loops would compute other results.
inline bool set_output(const Requantizer& requantizer, cortex_m::Int8Output* output) {
  return cortex_m::set_output(requantizer.inverse, requantizer.zero, requantizer.least, requantizer.most, output);
}

// The scales and the bias of the outputs of a convolution or a linear layer.
struct RealParts {
  float in_scale;
  const double* scales;
  int64_t scale_step;     // 0 if all outputs have one scale, else 1
  const double* offsets;  // or null
  float factor(int64_t output) const { return static_cast<float>(scales[output * scale_step]) * in_scale; }
};

// Converts the parts for the loops for Cortex-M, in scratch memory. Returns null if these loops would compute other
// results, or if there is no memory.
cortex_m::Int8Channel* channels_on_cortex_m(KernelRuntimeContext& context, int64_t outputs, const RealParts& parts);

// Records the failure unless `out` has an 8-bit dtype and [least, most] is within its range.
bool require_output(KernelRuntimeContext& context, const Tensor& out, int64_t least, int64_t most);

}  // namespace rushlight::quantized
