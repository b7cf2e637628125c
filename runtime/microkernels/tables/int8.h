// Inner loops over 8-bit integers, one set of them for each instruction set: exact sums of products in 32 bits, and
// what becomes of the sums. They know no tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/tables/int8_loops.h"

namespace rushlight::microkernels {

// sums[i, j] = sum over k of lhs[i, k] * rhs[k, j], for packed operands.
struct Int8Tile {
  const void* lhs;     // [rows, groups * group] as pack_lhs() gives them
  int64_t lhs_stride;  // elements from row to row
  const int8_t* rhs;   // [groups, vectors * lanes, group]
  int64_t groups;
  int32_t* sums;  // [rows, vectors * lanes], row stride sums_stride, aligned to a vector
  int64_t sums_stride;
  bool accumulate;  // to what `sums` holds
  // Of gemm_results() and gemm_pipelined(): rows from (rows + 1) / 2 on begin `half_step` elements behind the first
  // one. Of bytes of two vectors rows may be of several runs of so many groups each, `run_step` elements apart.
  int64_t half_step = 0, runs = 1, run_step = 0;
  // Of gemm_results(): memory that is fetched into a second level cache meanwhile, so many bytes with each group.
  const int8_t* ahead = nullptr;
  int64_t ahead_step = 0;
};

// Rows of numbers from[i * from_stride + j] ^ sign_mask, read as int8, which become the LHS's.
struct LhsRows {
  const uint8_t* from;
  int64_t from_stride;
  uint8_t sign_mask;
  int64_t numbers;    // of a row
  int64_t to_stride;  // elements
};

// The same sums for an RHS as it lies: columns of `numbers` numbers, `rhs_stride` apart. Rows of the LHS have what
// fill_lhs() can write, up to the next multiple of dot_step.
struct Int8Dots {
  const void* lhs;
  int64_t lhs_stride;
  const int8_t* rhs;
  int64_t rhs_stride;
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
struct Int8Range {
  int32_t zero, least, most;
};

// A sum of numbers and others, in `range`: number * factor + offset + other * other_factor, as Int8Loops::add() has it.
struct Int8Sum {
  const int8_t* others = nullptr;  // they lie as the numbers do; null: nothing is added
  float factor, other_factor, offset;
  Int8Range range;
  uint8_t sign_mask = 0;  // bytes of others XOR sign_mask are int8
};

// out[i, j] = clamp(round(float(sums[i, j] + correction[j]) * multiplier[j] + offset[j]) + zero, least, most), rounded
// to nearest, ties to even. With a sum, these numbers, which are int8, are added to others.
struct Requantize {
  const int32_t* correction;  // [n] or null: 0
  const float* multiplier;    // [n]
  const float* offset;        // [n] or null: 0
  int32_t zero;
  int32_t least, most;  // of int8 or of uint8
  Int8Sum sum = {};
};

// a - b * c, wrapped around: the zero points of a damaged program can have any value.
inline int32_t wrapping_difference(int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b) * static_cast<uint32_t>(c));
}

// out[i, j] = clamp(float(sums[i, j] - zero_i * rhs_sums[j]) * (scale_i * multiplier[j]) + offset[j], least, most),
// zero_i being zero(i), scale_i scales[i * step].
struct Dequantize {
  const int32_t* zeros;
  const float* scales;
  int64_t step;
  int32_t zero_offset;
  const int32_t* rhs_sums;  // [n]
  const float* multiplier;  // [n]
  const float* offset;      // [n] or null: 0
  float least, most;
  bool accumulate = false;  // to what `out` holds, before it is clamped

  int32_t zero(int64_t row) const { return wrapping_difference(zeros[row * step], -1, zero_offset); }
};

// What a set of tiles makes of Requantize or Dequantize, once for all tiles of a panel of columns.
struct alignas(64) PanelEpilogue {
  uint8_t memory[1280];
};

// What becomes of the sums of a tile of `columns` columns, more than those of all vectors but the last.
struct TileEpilogue {
  const PanelEpilogue* panel;
  const Dequantize* reals;  // null: bytes
  void* out;                // int8 or uint8, or floats
  int64_t out_stride;       // elements
  int64_t columns;
  const int8_t* others = nullptr;  // Int8Sum's, for this tile
  bool has_other_mask = false;     // whether Int8Sum::flip is not 0
};

// sums[i, c] = sum over t of pixels[i * taps + t][c] * weights[t / 2, c, t % 2].
struct Int8Channels {
  const uint8_t* const* pixels;
  int64_t taps;
  uint8_t sign_mask;
  const int16_t* weights;  // [taps / 2 rounded up, channels, 2], zeros beyond `taps`
  int64_t channels;
  int32_t* sums;
};

// sums[i, j] = sum over groups g of scales[j, g] times the sum within the group of lhs[i, k] * rhs[j, k].
struct Int4Dots {
  const uint8_t* lhs;  // [rows, groups * group] of pack_int4_lhs(), so many bytes apart
  int64_t lhs_stride;
  const uint8_t* rhs;  // two numbers a byte, each plus 8, the even one in the high half; bytes from column to column
  int64_t rhs_stride;
  const float* scales;
  int64_t scale_stride;   // from column to column
  int64_t groups, group;  // numbers of a group: a multiple of 32
  float* sums;            // [rows, columns], row stride sums_stride
  int64_t sums_stride;
};

// sums[j] = sum over groups g of scales[j, g] times the sum within the group of x[k] * rhs[j, k].
struct ScaledDots {
  const float* x;      // [groups * group]
  const uint8_t* rhs;  // columns of int8, or of two numbers a byte as in Int4Dots
  bool is_int4;        // then a group's size is even
  int64_t rhs_stride;  // bytes
  const float* scales;
  int64_t scale_stride;  // from column to column
  int64_t groups, group;
  float* sums;
};

// real = (number - zero) * scale; `step` is 1, or 0 for one number.
struct Int8Operand {
  const uint8_t* data;
  int64_t step;
  uint8_t sign_mask;  // bytes XOR sign_mask are int8
  int32_t zero;       // as int8
  float scale;
};

inline constexpr int64_t kLeastPipelinedGroups = 28;

struct Int8Microkernels {
  const char* name;
  int lanes;       // sums in a vector
  int rows;        // most rows of a tile
  int vectors;     // most vectors across a tile
  int group;       // numbers of a column that lie together in the RHS
  int dot_step;    // numbers of a vector of the LHS
  int lhs_size;    // bytes of a number of the LHS
  int lhs_offset;  // what is added to int8 numbers in the LHS: 0, or 128 where they are unsigned

  // Numbers from[i] ^ sign_mask, read as int8, to `to` in the LHS's form.
  void (*pack_lhs)(const uint8_t* from, uint8_t sign_mask, int64_t n, void* to);
  // So for rows; what follows a row up to a multiple of 64 bytes may be written, too. Null where no faster.
  void (*pack_rows)(const LhsRows& lhs, int64_t rows, void* to);
  // n times `value`.
  void (*fill_lhs)(int8_t value, int64_t n, void* to);
  // 1 <= rows <= this->rows, 1 <= vectors <= this->vectors.
  void (*gemm)(int rows, int vectors, const Int8Tile& tile);
  // The same with results instead of sums, which are written nowhere; `accumulate` is false. Null where no faster.
  void (*gemm_results)(int rows, int vectors, const Int8Tile& tile, const TileEpilogue& end);
  // For panels of so many vectors; the first gives whether tiles of all rows are ones for gemm_pipelined().
  bool (*prepare_requantize)(int vectors, const Requantize& how, int64_t columns, PanelEpilogue* to);
  void (*prepare_dequantize)(int vectors, const Dequantize& how, int64_t columns, PanelEpilogue* to);
  // Sums of a tile of all rows and vectors and at least kLeastPipelinedGroups groups, while those that tile.sums holds
  // until then become what `before` says of them, a tile of the same product. Null: they hold nothing.
  void (*gemm_pipelined)(const Int8Tile& tile, const TileEpilogue& end, const TileEpilogue* before);
  // What gemm_pipelined() makes of sums before, for the last ones.
  void (*finish_pipelined)(const int32_t* sums, const TileEpilogue& end);

  void (*dots)(int64_t rows, int64_t columns, const Int8Dots& dots);

  void (*channel_sums)(const Int8Channels& channels, int64_t pixels);

  // to[i] = clamp(round(x[i] * inverse) + zero, least, most), ties to even; 0 for NaN.
  void (*quantize)(const float* x, int64_t n, const Int8Range& range, float inverse, uint8_t* to);
  // (int8(x[i] ^ sign_mask) - zero) * scale.
  void (*dequantize_int8)(const uint8_t* x, uint8_t sign_mask, int64_t n, float zero, float scale, float* to);
  // n numbers of 4 bits, the even ones in the high halves, each plus 8: (number - zero) * scale. n is even.
  void (*dequantize_int4)(const uint8_t* x, int64_t n, float zero, float scale, float* to);
  // The least number and 0, the largest and 0; false if one is NaN.
  bool (*extremes)(const float* x, int64_t n, float* least, float* most);
  // The product or sum of two reals, quantized; `to` may be an operand. Not both steps are 0 unless n is 1.
  void (*combine)(bool multiply, const Int8Operand& a, const Int8Operand& b, const Int8Range& range, float inverse,
                  int64_t n, uint8_t* to);

  int int4_offset;  // what pack_int4_lhs() adds
  // n is a multiple of 32.
  void (*pack_int4_lhs)(const int8_t* from, int64_t n, uint8_t* to);
  void (*int4_dots)(int64_t rows, int64_t columns, const Int4Dots& dots);

  void (*scaled_dots)(int64_t columns, const ScaledDots& dots);

  void (*requantize)(const Requantize& how, const SumRows& rows, uint8_t* out);
  void (*dequantize)(const Dequantize& how, const SumRows& rows, float* out);

  Int8Loops loops;
};

// The best set for this machine, chosen once; RUSHLIGHT_ISA in the environment asks for a lesser one by name.
const Int8Microkernels& int8_microkernels();
// By name (generic, avx2, avxvnni, avx512, avx512vnni, neon, neon_dotprod, neon_i8mm), or null if this machine or build
// has none.
const Int8Microkernels* int8_microkernels_named(const char* name);

}  // namespace rushlight::microkernels
