#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rushlight {

// Does the same as std::memmove. The C library copies long rows with the string instruction of x86. This instruction
// takes about twelve times as long if, modulo 4096, the destination begins a few bytes after the source, as in a
// rotation along the rows of a tensor. Such bytes are copied in small pieces.
inline void move_bytes(void* to, const void* from, size_t n) {
#if defined(__x86_64__)
  constexpr size_t kPiece = 64, kLeast = 2048, kPage = 4096;
  const uintptr_t distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
  const bool overlaps = distance < n || 0 - distance < n;
  if (n >= kLeast && distance % kPage - 1 < kPiece - 1 && !overlaps) {
    uint8_t* target = static_cast<uint8_t*>(to);
    const uint8_t* source = static_cast<const uint8_t*>(from);
    for (; n >= kPiece; n -= kPiece, target += kPiece, source += kPiece) std::memcpy(target, source, kPiece);
    std::memcpy(target, source, n);
    return;
  }
#endif
  std::memmove(to, from, n);
}

// Copies `rows` rows of `n` bytes, which do not overlap. If rows of a damaged plan overlap, the result is unspecified.
// Steps are in bytes. Rows of 16 to 256 bytes are copied in pieces of constant size, for which compilers do not call
// std::memmove: the calls would take most of the time.
inline void move_rows(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t rows, size_t n) {
  constexpr size_t kPiece = 16, kMax = 256;
  uint8_t* target = static_cast<uint8_t*>(to);
  const uint8_t* source = static_cast<const uint8_t*>(from);
  for (int64_t row = 0; row < rows; ++row, target += to_step, source += from_step) {
    if (n < kPiece || n > kMax) {
      move_bytes(target, source, n);
      continue;
    }
    for (size_t i = 0; i + kPiece <= n; i += kPiece) std::memmove(target + i, source + i, kPiece);
    // The last piece may overlap the piece before it.
    std::memmove(target + n - kPiece, source + n - kPiece, kPiece);
  }
}

}  // namespace rushlight
