#pragma once

#include <cstdint>

namespace rushlight {

// Arithmetic of int64_t with wraparound.
inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t wrap_neg(int64_t a) { return wrap_sub(0, a); }

// Quotients and remainders. The divisor must not be 0.
inline int64_t trunc_div(int64_t a, int64_t b) { return b == -1 ? wrap_neg(a) : a / b; }
// Returns a / b for a >= 0 and b > 0. 32-bit processors divide numbers of 32 bits in one instruction.
inline int64_t quotient(int64_t a, int64_t b) {
  return (a | b) >> 32 == 0 ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}
inline int64_t trunc_mod(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
// Returns the remainder with the sign of the divisor.
inline int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t mod = trunc_mod(a, b);
  return mod != 0 && (mod < 0) != (b < 0) ? mod + b : mod;
}
inline int64_t floor_div(int64_t a, int64_t b) {
  const int64_t quotient = trunc_div(a, b);
  return trunc_mod(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Returns a to the power b, with wraparound. For b < 0 the result is rounded towards 0; it is 0 if a is 0.
inline int64_t integer_pow(int64_t a, int64_t b) {
  if (b < 0) {
    if (a == 1) return 1;
    return a == -1 ? (b % 2 ? -1 : 1) : 0;
  }
  int64_t power = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1) power = wrap_mul(power, a);
    a = wrap_mul(a, a);
  }
  return power;
}

}  // namespace rushlight
