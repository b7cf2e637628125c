#pragma once

#include <cstddef>
#include <cstdint>

// Sums and products that report overflow.
namespace c10 {

template <typename T>
bool add_overflows(T a, T b, T* out) {
  return __builtin_add_overflow(a, b, out);
}
template <typename T>
bool mul_overflows(T a, T b, T* out) {
  return __builtin_mul_overflow(a, b, out);
}

}  // namespace c10
