// Int8 convolutions of 3 x 3 with a stride of 1 by F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3) (Lavin and Gray 2016). Results
// are exact: the transforms are multiplied by factors that make them integers, sums are computed modulo 2^32, and
// results are divided by the product of the factors, a known power of two times a power of three.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight::microkernels {

struct Int8Microkernels;

// sums[i, j] = sum over k of lhs[i, k] * rhs[k, j], modulo 2^32.
struct Int16Tile {
  const int16_t* lhs;  // [rows, 2 * groups]
  int64_t lhs_stride;
  const int16_t* rhs;  // [groups, vectors * lanes, 2]
  int64_t groups;
  int32_t* sums;  // [rows, vectors * lanes], aligned to a vector
  int64_t sums_stride;
  bool accumulate;  // whether to add to the values in `sums`
};

// The transforms for m = 2 or 4. Points are the (m + 2)^2 elements of a transformed tile, line by line.
struct Int8WinogradMicrokernels {
  // Transforms filters [9, n], whose rows are `from_step` apart, to [points, n], with rows `to_step` apart. n is a
  // multiple of 2 * lanes.
  void (*filters)(int m, const int8_t* from, int64_t from_step, int64_t n, int16_t* to, int64_t to_step);
  // Transforms `points` pixels to [points, channels], with rows `to_step` apart. Bytes XOR sign_mask are int8.
  // `channels` is a multiple of 2 * lanes.
  void (*input)(int m, const int8_t* const* pixels, uint8_t sign_mask, int64_t channels, int16_t* to, int64_t to_step);
  // 1 <= rows <= tiles.rows, 1 <= vectors <= tiles.vectors.
  void (*gemm)(int rows, int vectors, const Int16Tile& tile);
  // Transforms products [points, n] to sums of the convolution: m lines of m pixels [n]. Lines are `line_step` apart,
  // and pixels `pixel_step` apart. n is a multiple of lanes.
  void (*output)(int m, const int32_t* products, int64_t step, int64_t n, int32_t* to, int64_t line_step,
                 int64_t pixel_step);
};

// Returns the microkernels for the instruction set and the packing of `kernels`. Returns null if int16 numbers are
// multiplied at less than half the speed of int8 numbers.
const Int8WinogradMicrokernels* int8_winograd_microkernels(const Int8Microkernels& kernels);

struct Int8WinogradShape {
  int64_t channels, outputs;
  int64_t images, height, width;  // sizes of the output
};
// Returns the fastest number of outputs of a tile along an axis, 4 or 2, or 0 if a GEMM over gathered pixels is faster.
int best_winograd(const Int8Microkernels& kernels, const Int8WinogradShape& shape);

// Returns the largest sum of the magnitudes of a column of weights for which results are exact.
inline int64_t max_winograd_magnitude(int m) { return m == 4 ? 1 << 18 : 1 << 22; }
// Returns the largest sum of magnitudes of the weights [n, 9 * channels] in `packed`; `channels` is even.
int64_t largest_magnitude(const Int8Microkernels& kernels, const void* packed, int64_t n, int64_t channels);
// Returns the number of int16 values of transformed filters. They consist of blocks of columns. A block is [points,
// panels of columns], with panels in the format of Int16Tile::rhs.
inline int64_t winograd_filter_size(int64_t lanes, int m, int64_t n, int64_t channels) {
  return (m + 2) * (m + 2) * ((n + lanes - 1) / lanes * lanes) * channels;
}
// Transforms weights [n, 9 * channels] that pack_rhs() packed.
void pack_winograd_filters(const Int8Microkernels& kernels, int m, const void* packed, int64_t n, int64_t channels,
                           int64_t block, int16_t* to);

}  // namespace rushlight::microkernels
