// Inner loops over 8-bit integers, one set of them for each instruction set: exact sums of products in 32 bits, and
// what becomes of the sums. They know no tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/optimized/tiles/byte_loops.h"

namespace rushlight::tiles {

// sums[i, j] = sum over k of left[i, k] * right[k, j], for packed operands.
struct ByteTile {
  const void* left;     // [rows, groups * group] as pack_left() gives them
  int64_t left_stride;  // elements from row to row
  const int8_t* right;  // [groups, vectors * lanes, group]
  int64_t groups;
  int32_t* sums;  // [rows, vectors * lanes], row stride sums_stride, aligned to a vector
  int64_t sums_stride;
  bool accumulate;  // to what `sums` holds
  // Of gemm_results() and gemm_behind(): rows from (rows + 1) / 2 on begin `half_step` elements behind the first one.
  // Of bytes of two vectors rows may be of several runs of so many groups each, `run_step` elements apart.
  int64_t half_step = 0, runs = 1, run_step = 0;
  // Of gemm_results(): memory that is fetched into a second level cache meanwhile, so many bytes with each group.
  const int8_t* ahead = nullptr;
  int64_t ahead_step = 0;
};

// Rows of numbers from[i * from_stride + j] ^ flip, read as int8, which become the left operand's.
struct LeftRows {
  const uint8_t* from;
  int64_t from_stride;
  uint8_t flip;
  int64_t numbers;    // of a row
  int64_t to_stride;  // elements
};

// The same sums for a right operand as it lies: columns of `numbers` numbers, `right_stride` apart. Left rows have what
// fill_left() can write, up to the next multiple of dot_step.
struct ByteDots {
  const void* left;
  int64_t left_stride;
  const int8_t* right;
  int64_t right_stride;
  int64_t numbers;
  int32_t* sums;  // [rows, columns], row stride sums_stride
  int64_t sums_stride;
};

// Rows of sums, `sums_stride` apart, and of results, `out_stride` apart.
struct SumRows {
  const int32_t* sums;
  int64_t sums_stride;
  int64_t rows, columns;
  int64_t out_stride;
};

// A quantized result: magnitudes of least - zero and most - zero are less than 2^22.
struct ByteRange {
  int32_t zero, least, most;
};

// A sum of numbers and others, in `range`: number * factor + offset + other * other_factor, as ByteLoops::add() has it.
struct ByteSum {
  const int8_t* others = nullptr;  // they lie as the numbers do; null: nothing is added
  float factor, other_factor, offset;
  ByteRange range;
  uint8_t flip = 0;  // bytes of others XOR flip are int8
};

// out[i, j] = clamp(round(float(sums[i, j] + correction[j]) * multiplier[j] + offset[j]) + zero, least, most), rounded
// to nearest, ties to even. With a sum, these numbers, which are int8, are added to others.
struct Requantize {
  const int32_t* correction;  // [n] or null: 0
  const float* multiplier;    // [n]
  const float* offset;        // [n] or null: 0
  int32_t zero;
  int32_t least, most;  // of int8 or of uint8
  ByteSum sum = {};
};

// out[i, j] = clamp(float(sums[i, j] - zero_i * right_sums[j]) * (scale_i * multiplier[j]) + offset[j], least, most),
// zero_i being zeros[i * step] + zero_offset, scale_i scales[i * step].
struct Dequantize {
  const int32_t* zeros;
  const float* scales;
  int64_t step;
  int32_t zero_offset;
  const int32_t* right_sums;  // [n]
  const float* multiplier;    // [n]
  const float* offset;        // [n] or null: 0
  float least, most;
  bool accumulate = false;  // to what `out` holds, before it is clamped
};

// What a set of tiles makes of Requantize or Dequantize, once for all tiles of a panel of columns.
struct alignas(64) PanelEnd {
  uint8_t memory[1280];
};

// What becomes of the sums of a tile of `columns` columns, more than those of all vectors but the last.
struct TileEnd {
  const PanelEnd* panel;
  const Dequantize* reals;  // null: bytes
  void* out;                // int8 or uint8, or floats
  int64_t out_stride;       // elements
  int64_t columns;
  const int8_t* others = nullptr;  // ByteSum's, for this tile
  bool flips_others = false;       // whether ByteSum::flip is not 0
};

// sums[i, c] = sum over t of pixels[i * taps + t][c] * weights[t / 2, c, t % 2].
struct ByteChannels {
  const uint8_t* const* pixels;
  int64_t taps;
  uint8_t flip;
  const int16_t* weights;  // [taps / 2 rounded up, channels, 2], zeros beyond `taps`
  int64_t channels;
  int32_t* sums;
};

// sums[i, j] = sum over groups g of scales[j, g] times the sum within the group of left[i, k] * right[j, k].
struct NibbleDots {
  const uint8_t* left;  // [rows, groups * group] of pack_nibble_left(), so many bytes apart
  int64_t left_stride;
  const uint8_t* right;  // two numbers a byte, each plus 8, the even one in the high half; bytes from column to column
  int64_t right_stride;
  const float* scales;
  int64_t scale_stride;   // from column to column
  int64_t groups, group;  // numbers of a group: a multiple of 32
  float* sums;            // [rows, columns], row stride sums_stride
  int64_t sums_stride;
};

// sums[j] = sum over groups g of scales[j, g] times the sum within the group of x[k] * right[j, k].
struct ScaledDots {
  const float* x;        // [groups * group]
  const uint8_t* right;  // columns of int8, or of two numbers a byte as in NibbleDots
  bool has_nibbles;      // then a group's size is even
  int64_t right_stride;  // bytes
  const float* scales;
  int64_t scale_stride;  // from column to column
  int64_t groups, group;
  float* sums;
};

// real = (number - zero) * scale; `step` is 1, or 0 for one number.
struct ByteOperand {
  const uint8_t* data;
  int64_t step;
  uint8_t flip;  // bytes XOR flip are int8
  int32_t zero;  // as int8
  float scale;
};

inline constexpr int64_t kLeastBehind = 28;

struct ByteTiles {
  const char* name;
  int lanes;        // sums in a vector
  int rows;         // most rows of a tile
  int vectors;      // most vectors across a tile
  int group;        // numbers of a column that lie together in the right operand
  int dot_step;     // numbers of a vector of the left operand
  int left_size;    // bytes of a number of the left operand
  int left_offset;  // what is added to int8 numbers in the left operand: 0, or 128 where they are unsigned

  // Numbers from[i] ^ flip, read as int8, to `to` in the left operand's form.
  void (*pack_left)(const uint8_t* from, uint8_t flip, int64_t n, void* to);
  // So for rows; what follows a row up to a multiple of 64 bytes may be written, too. Null where no faster.
  void (*pack_rows)(const LeftRows& left, int64_t rows, void* to);
  // n times `value`.
  void (*fill_left)(int8_t value, int64_t n, void* to);
  // 1 <= rows <= this->rows, 1 <= vectors <= this->vectors.
  void (*gemm)(int rows, int vectors, const ByteTile& tile);
  // The same with results instead of sums, which are written nowhere; `accumulate` is false. Null where no faster.
  void (*gemm_results)(int rows, int vectors, const ByteTile& tile, const TileEnd& end);
  // For panels of so many vectors; the first gives whether tiles of all rows are ones for gemm_behind().
  bool (*prepare_bytes)(int vectors, const Requantize& how, int64_t columns, PanelEnd* to);
  void (*prepare_reals)(int vectors, const Dequantize& how, int64_t columns, PanelEnd* to);
  // Sums of a tile of all rows and vectors and at least kLeastBehind groups, while those that tile.sums holds until
  // then become what `before` says of them, a tile of the same product. Null: they hold nothing.
  void (*gemm_behind)(const ByteTile& tile, const TileEnd& end, const TileEnd* before);
  // What gemm_behind() makes of sums before, for the last ones.
  void (*finish_behind)(const int32_t* sums, const TileEnd& end);

  void (*dots)(int64_t rows, int64_t columns, const ByteDots& dots);

  void (*channel_sums)(const ByteChannels& channels, int64_t pixels);

  // to[i] = clamp(round(x[i] * inverse) + zero, least, most), ties to even; 0 for NaN.
  void (*quantize_bytes)(const float* x, int64_t n, const ByteRange& range, float inverse, uint8_t* to);
  // (int8(x[i] ^ flip) - zero) * scale.
  void (*dequantize_bytes)(const uint8_t* x, uint8_t flip, int64_t n, float zero, float scale, float* to);
  // n numbers of 4 bits, the even ones in the high halves, each plus 8: (number - zero) * scale. n is even.
  void (*dequantize_nibbles)(const uint8_t* x, int64_t n, float zero, float scale, float* to);
  // The least number and 0, the largest and 0; false if one is NaN.
  bool (*extremes)(const float* x, int64_t n, float* least, float* most);
  // The product or sum of two reals, quantized; `to` may be an operand. Not both steps are 0 unless n is 1.
  void (*combine_bytes)(bool multiply, const ByteOperand& a, const ByteOperand& b, const ByteRange& range,
                        float inverse, int64_t n, uint8_t* to);

  int nibble_offset;  // what pack_nibble_left() adds
  // n is a multiple of 32.
  void (*pack_nibble_left)(const int8_t* from, int64_t n, uint8_t* to);
  void (*nibble_dots)(int64_t rows, int64_t columns, const NibbleDots& dots);

  void (*scaled_dots)(int64_t columns, const ScaledDots& dots);

  void (*requantize)(const Requantize& how, const SumRows& rows, uint8_t* out);
  void (*dequantize)(const Dequantize& how, const SumRows& rows, float* out);

  ByteLoops loops;
};

// The best set for this machine, chosen once; RUSHLIGHT_ISA in the environment asks for a lesser one by name.
const ByteTiles& byte_tiles();
// By name (generic, avx2, avxvnni, avx512, avx512vnni, neon, neon_dotprod, neon_i8mm), or null if this machine or build
// has none.
const ByteTiles* byte_tiles_named(const char* name);

}  // namespace rushlight::tiles
