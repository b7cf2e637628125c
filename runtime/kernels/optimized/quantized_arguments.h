#pragma once

#include <cstdint>
#include <optional>

#include "microkernels/tables/int8.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Whether a tensor is int8 or uint8 in row-major order.
bool is_row_major_bytes(const Tensor& tensor);
// byte XOR sign_mask_of(tensor) is an int8 number, whose zero point is zero_of(tensor, zero).
inline uint8_t sign_mask_of(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::Byte ? 0x80 : 0; }
inline int64_t zero_of(const Tensor& tensor, int64_t zero) {
  return tensor.scalar_type() == ScalarType::Byte ? zero - 128 : zero;
}

// Whether a zero point is as small as the int8 microkernels require. A damaged program may contain any
// zero point; the portable kernels support all of them.
inline bool is_small_zero(int64_t zero) { return zero >= -(1 << 20) && zero <= 1 << 20; }

// The quantization parameters of a result: the scales of the channel sums, and the parameters of the output.
struct QuantizedResult {
  double in_scale;
  const Tensor& weight_scales;  // [n] or [1]
  const std::optional<Tensor>& bias;
  double scale;
  int64_t zero, quant_min, quant_max;
};

// Fills `requantize`, the requantization of the sums of n channels, without corrections. Its arrays are in scratch
// memory. If there is no memory, records the failure and returns false.
bool requantize_to(KernelRuntimeContext& context, const QuantizedResult& result, int64_t n,
                   microkernels::Requantize* requantize);

// Returns n float32 copies, in scratch memory, of the elements of a tensor (of n elements, or of one that is repeated).
// If there is no memory, records the failure and returns null.
const float* floats_of(KernelRuntimeContext& context, const Tensor& tensor, int64_t n);

}  // namespace rushlight::optimized
