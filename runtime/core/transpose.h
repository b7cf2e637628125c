// Transpositions of elements of any size.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define RL_TRANSPOSE_VECTORS 1
#endif
#endif

namespace rushlight {
namespace transposition {

#if RL_TRANSPOSE_VECTORS

template <size_t bytes>
struct Word;
template <>
struct Word<1> {
  using type = uint8_t;
};
template <>
struct Word<2> {
  using type = uint16_t;
};
template <>
struct Word<4> {
  using type = uint32_t;
};
template <>
struct Word<8> {
  using type = uint64_t;
};

// Transposes a square matrix whose rows are 16-byte vectors. Each stage interleaves the upper half of the rows with the
// lower half; there is one stage for each bit of a row index.
template <size_t bytes>
struct Square {
  static constexpr int kSize = 16 / static_cast<int>(bytes);
  using Element = typename Word<bytes>::type;
  typedef Element Vector __attribute__((vector_size(16)));

  template <int first, int... i>
  static Vector interleave(Vector a, Vector b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (first + i / 2 + (i % 2) * kSize)...);
  }

  // Computes one stage. `stage` is halved after each stage, down to 1.
  template <int stage>
  static void interleave_halves(Vector (&rows)[kSize]) {
    if constexpr (stage > 1) {
      using Indices = std::make_integer_sequence<int, kSize>;
      Vector next[kSize];
      interleave_pairs(rows, next, std::make_integer_sequence<int, kSize / 2>(), Indices());
      interleave_halves<stage / 2>(next);
      for (int i = 0; i < kSize; ++i) rows[i] = next[i];
    }
  }

  template <int... pair, typename Indices>
  static void interleave_pairs(const Vector (&rows)[kSize], Vector (&next)[kSize], std::integer_sequence<int, pair...>,
                               Indices indices) {
    ((next[2 * pair] = interleave<0>(rows[pair], rows[pair + kSize / 2], indices),
      next[2 * pair + 1] = interleave<kSize / 2>(rows[pair], rows[pair + kSize / 2], indices)),
     ...);
  }

  // The rows of `to` are `to_stride` bytes apart; the rows of `from` are `from_stride` bytes apart.
  static void transpose(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride) {
    Vector rows[kSize];
    for (int i = 0; i < kSize; ++i) std::memcpy(&rows[i], from + i * from_stride, 16);
    interleave_halves<kSize>(rows);
    for (int i = 0; i < kSize; ++i) std::memcpy(to + i * to_stride, &rows[i], 16);
  }
};

#endif

}  // namespace transposition

// Sets to[c * to_stride + r] to from[r * from_stride + c] for r < rows and c < columns. Strides count elements.
template <typename T>
void transpose(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to, int64_t to_stride) {
  int64_t r = 0;
#if RL_TRANSPOSE_VECTORS
  if constexpr (sizeof(T) < 16) {
    using Square = transposition::Square<sizeof(T)>;
    constexpr int64_t kSize = Square::kSize;
    constexpr int64_t kBytes = static_cast<int64_t>(sizeof(T));
    // Lines at a distance of whole pages evict each other from the first-level cache before they are full. Then the
    // lines are written one after the other.
    if (sizeof(T) == 4 && to_stride * kBytes % 4096 == 0 && rows % kSize == 0 && columns % kSize == 0) {
      for (int64_t c = 0; c < columns; c += kSize) {
        for (r = 0; r < rows; r += kSize) {
          Square::transpose(reinterpret_cast<const uint8_t*>(from + r * from_stride + c), from_stride * kBytes,
                            reinterpret_cast<uint8_t*>(to + c * to_stride + r), to_stride * kBytes);
        }
      }
      return;
    }
    for (; r + kSize <= rows; r += kSize) {
      int64_t c = 0;
      for (; c + kSize <= columns; c += kSize) {
        Square::transpose(reinterpret_cast<const uint8_t*>(from + r * from_stride + c), from_stride * kBytes,
                          reinterpret_cast<uint8_t*>(to + c * to_stride + r), to_stride * kBytes);
      }
      for (; c < columns; ++c) {
        for (int64_t i = r; i < r + kSize; ++i) to[c * to_stride + i] = from[i * from_stride + c];
      }
    }
  }
#endif
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

// Does the same for a square matrix whose rows have 64 bytes, the size of a cache line. The rows of `to` are
// contiguous.
template <typename T>
void transpose_square(const T* from, int64_t from_stride, T* to) {
  constexpr int64_t kSide = 64 / static_cast<int64_t>(sizeof(T));
#if RL_TRANSPOSE_VECTORS
  if constexpr (sizeof(T) < 16) {
    using Square = transposition::Square<sizeof(T)>;
    constexpr int64_t kSize = Square::kSize;
    constexpr int64_t kBytes = static_cast<int64_t>(sizeof(T));
    for (int64_t r = 0; r < kSide; r += kSize) {
      for (int64_t c = 0; c < kSide; c += kSize) {
        Square::transpose(reinterpret_cast<const uint8_t*>(from + r * from_stride + c), from_stride * kBytes,
                          reinterpret_cast<uint8_t*>(to + c * kSide + r), kSide * kBytes);
      }
    }
    return;
  }
#endif
  for (int64_t r = 0; r < kSide; ++r) {
    for (int64_t c = 0; c < kSide; ++c) to[c * kSide + r] = from[r * from_stride + c];
  }
}

}  // namespace rushlight
