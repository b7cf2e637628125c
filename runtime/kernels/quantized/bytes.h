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

// Reads int8 and uint8: converts a byte XOR `sign_mask` to int8, and adds `offset`.
struct ByteReader {
  explicit ByteReader(const Tensor& tensor)
      : sign_mask(tensor.scalar_type() == ScalarType::Byte ? 0x80 : 0), offset(sign_mask ? 128 : 0) {}
  int32_t operator()(uint8_t byte) const { return static_cast<int8_t>(byte ^ sign_mask) + offset; }
  uint8_t sign_mask;
  int32_t offset;
};

// Computes clamp(round(real / scale) + zero, quant_min, quant_max).
struct Requantizer {
  Requantizer(double scale, int64_t zero_point, int64_t minimum, int64_t maximum);
  uint8_t operator()(float real) const {
    const float x = std::nearbyint(real * inverse) + zero;
    const float clamped = x < quant_min ? quant_min : (x > quant_max ? quant_max : x);
    // NaN becomes 0, as in eager PyTorch.
    return clamped == clamped ? static_cast<uint8_t>(static_cast<int32_t>(clamped)) : uint8_t{0};
  }
  float inverse, zero, quant_min, quant_max;
};

// Converts the parameters of a Requantizer for the loops for Cortex-M; `minimum` and `maximum` are in the range of an
// 8-bit dtype. Returns false if these loops would give other results: if is_usual() is false for the reciprocal of the
// scale, if it is 0, or if the magnitude of the zero point exceeds 2^20.
bool set_output(double scale, int64_t zero_point, int64_t minimum, int64_t maximum, cortex_m::Int8Output* output);

// Returns the scratch memory of the context for the loops for Cortex-M. A missing memory is not a failure, because the
// portable kernels need less.
cortex_m::ScratchMemory cortex_m_scratch(KernelRuntimeContext& context);

// Records the failure unless `in` has an 8-bit dtype and its zero point fits into 16 bits.
bool require_input(KernelRuntimeContext& context, const Tensor& in, int64_t zero);
// Records the failure unless `out` has an 8-bit dtype and [quant_min, quant_max] is within its range.
bool require_output(KernelRuntimeContext& context, const Tensor& out, int64_t quant_min, int64_t quant_max);

}  // namespace rushlight::quantized
