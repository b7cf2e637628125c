// Elements of tensors whose memory can hold any bytes.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rushlight {

// The element at `from`. Planned memory can hold other bytes than 0 and 1 where a damaged program reads a bool.
template <typename T>
T element(const T* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const uint8_t*>(from) != 0;
  } else {
    return *from;
  }
}

}  // namespace rushlight
