#include "kernels/shared/element_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/shared/division.h"

namespace rushlight {

void combine_bits(BitOp op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  if (op == BitOp::And) {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] & b[i];
  } else if (op == BitOp::Or) {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] | b[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] ^ b[i];
  }
}

void find_nonzero(const uint8_t* x, uint8_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] != 0;
}

void float_remainders(bool floor, const float* a, const float* b, float* y, int64_t n) {
  constexpr int64_t kBlock = 64;
  float results[kBlock];
  for (int64_t first = 0; first < n; first += kBlock, a += kBlock, b += kBlock, y += kBlock) {
    const int64_t count = std::min(kBlock, n - first);
    // Numbers that need std::fmod are rare. If a block has one, all remainders of the block are computed again.
    int32_t rare = 0;
    for (int64_t i = 0; i < count; ++i) {
      const float quotient = std::abs(a[i] / b[i]);
      const bool is_short = quotient < 4194304.0f;
      const bool is_finite = std::abs(b[i]) <= std::numeric_limits<float>::max();
      rare |= static_cast<int32_t>(!is_short) | static_cast<int32_t>(!is_finite);
      const double divisor = std::abs(static_cast<double>(b[i]));
      const int32_t whole = static_cast<int32_t>(is_short ? quotient : 0.0f);
      const double rest = std::abs(static_cast<double>(a[i])) - whole * divisor;
      results[i] = std::copysign(static_cast<float>(rest < 0 ? rest + divisor : rest), a[i]);
    }
    for (int64_t i = 0; rare != 0 && i < count; ++i) results[i] = remainder_of(a[i], b[i]);
    for (int64_t i = 0; floor && i < count; ++i) {
      const float mod = results[i], divisor = b[i];
      const int is_below = static_cast<int>(mod < 0) & static_cast<int>(divisor > 0);
      const int is_above = static_cast<int>(mod > 0) & static_cast<int>(divisor < 0);
      results[i] = mod + ((is_below | is_above) != 0 ? divisor : -0.0f);
    }
    std::copy_n(results, count, y);
  }
}

void multiply_complex(const ComplexFloat* a, const ComplexFloat* b, ComplexFloat* y, int64_t n) {
  // A complex number is an array of its real and its imaginary part.
  const float* const p = reinterpret_cast<const float*>(a);
  const float* const q = reinterpret_cast<const float*>(b);
  float* const to = reinterpret_cast<float*>(y);
  for (int64_t i = 0; i < n; ++i) {
    const float real = p[2 * i] * q[2 * i] - p[2 * i + 1] * q[2 * i + 1];
    const float imaginary = p[2 * i] * q[2 * i + 1] + p[2 * i + 1] * q[2 * i];
    to[2 * i] = real;
    to[2 * i + 1] = imaginary;
  }
}

}  // namespace rushlight
