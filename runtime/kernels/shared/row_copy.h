#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rushlight {

// Asks for the first lines of a row that is read a few rows later: rows in no order are not foreseen by hardware.
inline void prefetch_row(const uint8_t* row, size_t bytes) {
  constexpr size_t kLine = 64, kMost = 1024;
  for (size_t i = 0; i < bytes && i < kMost; i += kLine) __builtin_prefetch(row + i);
}

// Copies rows begin to end; from(i) gives row i's source, to(i) where it goes.
template <typename From, typename To>
void copy_rows(int64_t begin, int64_t end, size_t bytes, const From& from, const To& to) {
  constexpr int64_t kAhead = 6;
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) prefetch_row(from(i + kAhead), bytes);
    std::memcpy(to(i), from(i), bytes);
  }
}

}  // namespace rushlight
