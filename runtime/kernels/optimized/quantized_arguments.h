#pragma once

#include <cstdint>
#include <optional>

#include "microkernels/tables/int8.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// int8 or uint8 in row-major order.
bool is_plain_bytes(const Tensor& tensor);
// XOR this, bytes of the tensor are int8, its zero points being `zero_of` theirs.
inline uint8_t sign_mask_of(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::Byte ? 0x80 : 0; }
inline int64_t zero_of(const Tensor& tensor, int64_t zero) {
  return tensor.scalar_type() == ScalarType::Byte ? zero - 128 : zero;
}

// Whether a zero point is as small as the int8 microkernels require. Damaged programs have any zero points, which the
// portable kernels take.
inline bool is_small_zero(int64_t zero) { return zero >= -(1 << 20) && zero <= 1 << 20; }

// A quantized result: the scales of its channels' sums, and its own.
struct QuantizedResult {
  double in_scale;
  const Tensor& weight_scales;  // [n] or [1]
  const std::optional<Tensor>& bias;
  double scale;
  int64_t zero, least, most;
};

// What turns sums of n channels into the result, in scratch memory; without corrections. False and the failure recorded
// if there is none.
bool requantize_to(KernelRuntimeContext& context, const QuantizedResult& result, int64_t n,
                   microkernels::Requantize* how);

// float32 copies of n numbers of a tensor, which has as many or one, in scratch memory; null and the failure recorded
// if there is none.
const float* floats_of(KernelRuntimeContext& context, const Tensor& tensor, int64_t n);

}  // namespace rushlight::optimized
