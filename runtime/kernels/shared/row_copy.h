#pragma once

#include <cstddef>
#include <cstdint>

#include "core/move_bytes.h"

namespace rushlight {

// Prefetches the first cache lines of a row that is read a few rows later. The hardware prefetcher cannot predict the
// addresses of rows in arbitrary order.
inline void prefetch_row(const uint8_t* row, size_t bytes) {
  constexpr size_t kLine = 64, kMaxBytes = 1024;
  for (size_t i = 0; i < bytes && i < kMaxBytes; i += kLine) __builtin_prefetch(row + i);
}

// Copies the rows from `begin` to `end`. from(i) returns the source of row i, to(i) its destination.
template <typename From, typename To>
void copy_rows(int64_t begin, int64_t end, size_t bytes, const From& from, const To& to) {
  constexpr int64_t kAhead = 6;
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) prefetch_row(from(i + kAhead), bytes);
    move_bytes(to(i), from(i), bytes);
  }
}

}  // namespace rushlight
