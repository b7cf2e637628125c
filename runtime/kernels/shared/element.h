// Reads elements of tensors whose memory may contain any bytes.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rushlight {

// Returns the element at `from`. In a damaged program, a bool in planned memory may have other bytes than 0 and 1.
template <typename T>
T element(const T* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const uint8_t*>(from) != 0;
  } else {
    return *from;
  }
}

}  // namespace rushlight
