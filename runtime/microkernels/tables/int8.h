// Inner loops over 8-bit integers, one table for each instruction set: exact int32 sums of products, and the epilogues
// that convert sums to int8 or float32 results. They work on arrays and do not use tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "microkernels/tables/int8_loops.h"

namespace rushlight::microkernels {

// The shapes of the tile registers of a matrix unit. The unit takes long to change them.
struct Int8TileShapes {
  int rows = 0;  // rows of a tile; 0: no shapes are set
  int64_t groups = 0;
};

// sums[i, j] = sum over k of lhs[i, k] * rhs[k, j], for packed operands.
struct Int8Tile {
  const void* lhs;     // [rows, groups * group], packed by pack_lhs()
  int64_t lhs_stride;  // elements from row to row
  const int8_t* rhs;   // [groups, vectors * lanes, group]
  int64_t groups;
  int32_t* sums;  // [rows, vectors * lanes], row stride sums_stride, aligned to a vector
  int64_t sums_stride;
  bool accumulate;  // whether to add to the values in `sums`
  // For gemm_results() and gemm_pipelined(): row (rows + 1) / 2 of the LHS begins `half_step` elements after row 0. In
  // tiles of two vectors with int8 results, a row may consist of `runs` runs of `groups` groups, which are `run_step`
  // elements apart.
  int64_t half_step = 0, runs = 1, run_step = 0;
  // For gemm_results(): memory to prefetch into the L2 cache, and the number of bytes to prefetch for each group.
  const int8_t* ahead = nullptr;
  int64_t ahead_step = 0;
  // For a table with release_shapes(): the shapes that tile registers have and keep. If it is null, they have none and
  // keep none.
  Int8TileShapes* shapes = nullptr;
};

// Rows that are packed as an LHS. Number j of row i is from[i * from_stride + j] ^ sign_mask, as int8.
struct LhsRows {
  const uint8_t* from;
  int64_t from_stride;
  uint8_t sign_mask;
  int64_t numbers;    // numbers in a row
  int64_t to_stride;  // elements from row to row of the packed LHS
};

// As Int8Tile, for an RHS that is not packed. Its columns are contiguous, have `numbers` numbers and are `rhs_stride`
// apart. fill_lhs() pads the rows of the LHS to a multiple of dot_step.
struct Int8Dots {
  const void* lhs;
  int64_t lhs_stride;
  const int8_t* rhs;
  int64_t rhs_stride;
  int64_t numbers;
  int32_t* sums;  // [rows, columns], row stride sums_stride
  int64_t sums_stride;
};

// Rows of sums, which are `sums_stride` elements apart. Their results are `out_stride` elements apart.
struct SumRows {
  const int32_t* sums;
  int64_t sums_stride;
  int64_t rows, columns;
  int64_t out_stride;
};

// The range of quantized results. least - zero and most - zero have magnitudes below 2^22.
struct Int8Range {
  int32_t zero, least, most;
};

// The addition of a quantized residual, as in Int8Loops::add(): number * factor + offset + other * other_factor,
// rounded and clamped to `range`.
struct Int8Sum {
  const int8_t* others = nullptr;  // the residual, with the layout of the results; null: nothing is added
  float factor, other_factor, offset;
  Int8Range range;
  uint8_t sign_mask = 0;  // others[i] ^ sign_mask is int8
};

// out[i, j] = clamp(round(float(sums[i, j] + correction[j]) * multiplier[j] + offset[j]) + zero, least, most), rounded
// to nearest, ties to even. Then `sum` adds a residual to these int8 numbers, if there is one.
struct Requantize {
  const int32_t* correction;  // [n], or null for 0
  const float* multiplier;    // [n]
  const float* offset;        // [n], or null for 0
  int32_t zero;
  int32_t least, most;  // within the range of int8 or of uint8
  Int8Sum sum = {};

  // Changes the results from int8 to result ^ sign_mask, where sign_mask is 0 or 0x80: shifts the range of the last
  // quantization. `sum` is already set.
  void set_sign_mask(uint8_t sign_mask) {
    if (sum.others) {
      sum.range = {sum.range.zero + sign_mask, sum.range.least + sign_mask, sum.range.most + sign_mask};
    } else {
      zero += sign_mask, least += sign_mask, most += sign_mask;
    }
  }
};

// Returns a - b * c modulo 2^32, because the zero points of a damaged program can have any value.
inline int32_t wrapping_difference(int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b) * static_cast<uint32_t>(c));
}

// out[i, j] = clamp(float(sums[i, j] - zero_i * rhs_sums[j]) * (scale_i * multiplier[j]) + offset[j], least, most),
// where zero_i is zero(i) and scale_i is scales[i * step].
struct Dequantize {
  const int32_t* zeros;
  const float* scales;
  int64_t step;
  int32_t zero_offset;
  const int32_t* rhs_sums;  // [n]
  const float* multiplier;  // [n]
  const float* offset;      // [n], or null for 0
  float least, most;
  bool accumulate = false;  // whether to add to the values in `out` before clamping

  int32_t zero(int64_t row) const { return wrapping_difference(zeros[row * step], -1, zero_offset); }
};

// The parameters of Requantize or Dequantize in the layout of an instruction set, prepared once for all tiles of a
// panel.
struct alignas(64) PanelEpilogue {
  uint8_t memory[1280];
};

// The epilogue of a tile of `columns` columns. Only the last vector of the tile may be partly used.
struct TileEpilogue {
  const PanelEpilogue* panel;
  const Dequantize* reals;  // for float32 results; null for int8 or uint8 results
  void* out;
  int64_t out_stride;  // elements
  int64_t columns;
  const int8_t* others = nullptr;  // Int8Sum::others for this tile
  bool has_other_mask = false;     // whether Int8Sum::sign_mask is not 0
  // For gemm_results() of a table with release_shapes(): the first rows of the tile, which have no results in `out`.
  int64_t done = 0;
};

// sums[i, c] = sum over t of pixels[i * taps + t][c] * weights[t / 2, c, t % 2].
struct Int8Channels {
  const uint8_t* const* pixels;
  int64_t taps;
  uint8_t sign_mask;
  const int16_t* weights;  // [taps / 2 rounded up, channels, 2], with zeros after the last tap
  int64_t channels;
  int32_t* sums;
};

// One vector of output channels of a grouped convolution, in adjacent output pixels:
// sums[i, j] = sum over the taps t and the input channels k of the group of channel j of pixel[t, i, k] * rhs[t, k, j].
struct Int8GroupLine {
  const uint8_t* const* pixels;  // [taps], the packed LHS that output pixel 0 multiplies by each tap
  int64_t taps;
  int64_t pixel_step;  // bytes from output pixel to output pixel
  int64_t units;       // units of `unit` input channels in a group
  bool is_repeated;    // whether a vector contains several groups, and the LHS was written by repeat_groups()
  const int8_t* rhs;   // [taps, units, lanes, unit]
  int32_t* sums;       // [pixels, lanes], aligned to a vector
};

// Pixels of a packed LHS whose groups are repeated. A pixel of the result is [units, lanes, unit]: for each output
// channel, units of the input channels of its group. `lanes` channels are read, also if a pixel has fewer; the sums of
// the others have no meaning.
struct Int8GroupPixels {
  const uint8_t* from;
  int64_t from_step;  // bytes from pixel to pixel
  int64_t size;       // channels of a group: 4 or 8, fewer than the lanes of a vector
  uint8_t* to;
};

// sums[i, j] = sum over groups g of scales[j, g] * (sum within the group of lhs[i, k] * rhs[j, k]).
struct Int4Dots {
  const uint8_t* lhs;  // [rows, groups * group], packed by pack_int4_lhs(); rows are lhs_stride bytes apart
  int64_t lhs_stride;
  const uint8_t* rhs;  // columns, rhs_stride bytes apart, of 4-bit numbers + 8: two in a byte, the number with the even
                       // index in the high bits
  int64_t rhs_stride;
  const float* scales;
  int64_t scale_stride;   // numbers from column to column
  int64_t groups, group;  // `group`: numbers of a group, a multiple of 32
  float* sums;            // [rows, columns], row stride sums_stride
  int64_t sums_stride;
};

// As Int4Dots for kInt4Panel columns, whose numbers are expanded to bytes, once for many rows.
inline constexpr int64_t kInt4Panel = 32;
struct Int4Panel {
  const uint8_t* lhs;
  int64_t lhs_stride;
  const int8_t* rhs;      // [groups * group / 4, kInt4Panel, 4]
  const float* scales;    // [groups, kInt4Panel]
  int64_t groups, group;  // `group`: numbers of a group, a multiple of 32
  float* sums;            // [rows, kInt4Panel]
};

// A row of the result of a GEMM with 4-bit numbers:
// out[j] = (sums[j] - zero * weight_sums[j]) * scale + bias[j] + residual[j].
struct Int4Row {
  const float* sums;
  const float* weight_sums;
  float zero, scale;      // of the LHS
  const float* bias;      // may be null
  const float* residual;  // may be null
  float* out;             // may be the residual
};

// Columns of int8 numbers, or of 4-bit numbers as in Int4Dots, with a scale for each group of numbers.
struct ScaledColumns {
  const uint8_t* numbers;
  bool is_int4;    // if true, `left` and `group` are even
  int64_t stride;  // bytes from column to column
  const float* scales;
  int64_t scale_stride;    // numbers from column to column
  int64_t columns, terms;  // numbers of a column
  int64_t left, group;     // the first scale is that of `left` terms, and each other scale that of `group` terms
};

// Adds to sums[i, j] the sum over k of x[i, k] * rhs[j, k] * its scale.
inline constexpr int64_t kScaledBlock = 32;
struct ScaledDots {
  // The terms that have the same scale consist of blocks of kScaledBlock terms and fewer terms after them. A block is
  // [rows, kScaledBlock]. If the columns have 4-bit numbers, the terms with even indices come first in a block.
  const float* x;
  ScaledColumns rhs;
  float* sums;  // [rows, columns], row stride sums_stride
  int64_t sums_stride;
};

// A quantized operand: real = (number - zero) * scale. `step` is 1, or 0 if the operand is a single number.
struct Int8Operand {
  const uint8_t* data;
  int64_t step;
  uint8_t sign_mask;  // data[i] ^ sign_mask is int8
  int32_t zero;       // in the range of int8
  float scale;
};

inline constexpr int64_t kMinPipelinedGroups = 28;

struct Int8Microkernels {
  const char* name;
  int lanes;       // number of sums in a vector
  int rows;        // maximum rows of a tile
  int vectors;     // maximum vectors in a row of a tile
  int group;       // number of adjacent numbers of a column that one lane multiplies
  int dot_step;    // number of numbers in a vector of the LHS
  int lhs_size;    // bytes of a number of the packed LHS
  int lhs_offset;  // added to int8 numbers by packing: 0, or 128 if the packed LHS is unsigned

  // Packs n numbers from[i] ^ sign_mask, which are int8, as an LHS.
  void (*pack_lhs)(const uint8_t* from, uint8_t sign_mask, int64_t n, void* to);
  // As pack_lhs(), for rows. It may write bytes after the end of a row, up to a multiple of 64 bytes. Null if
  // pack_lhs() is as fast.
  void (*pack_rows)(const LhsRows& lhs, int64_t rows, void* to);
  // Packs n copies of `value` as an LHS.
  void (*fill_lhs)(int8_t value, int64_t n, void* to);
  // 1 <= rows <= this->rows, 1 <= vectors <= this->vectors.
  void (*gemm)(int rows, int vectors, const Int8Tile& tile);
  // As gemm(), with the epilogue `end`. Sums are not stored, and `accumulate` is false. Null if gemm() is as fast.
  void (*gemm_results)(int rows, int vectors, const Int8Tile& tile, const TileEpilogue& end);
  // Prepare the epilogue of a panel of `vectors` vectors. prepare_requantize() returns whether gemm_pipelined() is the
  // fastest function for full tiles of this panel.
  bool (*prepare_requantize)(int vectors, const Requantize& how, int64_t columns, PanelEpilogue* to);
  void (*prepare_dequantize)(int vectors, const Dequantize& how, int64_t columns, PanelEpilogue* to);
  // Computes the sums of a full tile with at least kMinPipelinedGroups groups and stores them in tile.sums. In the
  // same loop, it applies the epilogue `before` to the previous contents of tile.sums, which are the sums of another
  // tile of this GEMM. If `before` is null, tile.sums has no previous contents.
  void (*gemm_pipelined)(const Int8Tile& tile, const TileEpilogue& end, const TileEpilogue* before);
  // Applies the epilogue `end` to the sums of the last tile of gemm_pipelined().
  void (*finish_pipelined)(const int32_t* sums, const TileEpilogue& end);

  // Only for tables of a matrix unit. Clears the tile registers and their shapes.
  void (*release_shapes)();
  // Returns the number of groups that gemm_results() multiplies twice in a run of `groups` groups. If it is not 0,
  // repeat_in_lhs() must change a packed LHS first. Its rows have space for a multiple of 64 bytes.
  int64_t (*repeated_groups)(int64_t groups);
  void (*repeat_in_lhs)(int64_t groups, int64_t rows, int64_t stride, void* lhs);
  // Returns whether this table is faster than `smaller` for tiles of `rows` rows with `groups` groups in a run.
  bool (*is_faster)(int64_t rows, int64_t groups);
  // A table with the same packed operands for other products, or null.
  const Int8Microkernels* smaller;

  void (*dots)(int64_t rows, int64_t columns, const Int8Dots& dots);

  void (*channel_sums)(const Int8Channels& channels, int64_t pixels);

  int unit;  // number of adjacent channels of a group that one lane of group_sums() multiplies; a divisor of 4
  void (*group_sums)(const Int8GroupLine& line, int64_t pixels);
  // Only for sets with more than four lanes.
  void (*repeat_groups)(const Int8GroupPixels& groups, int64_t pixels);

  // to[i] = clamp(round(x[i] * inverse) + zero, least, most), ties to even. NaN becomes 0.
  void (*quantize)(const float* x, int64_t n, const Int8Range& range, float inverse, uint8_t* to);
  // to[i] = (int8(x[i] ^ sign_mask) - zero) * scale.
  void (*dequantize_int8)(const uint8_t* x, uint8_t sign_mask, int64_t n, float zero, float scale, float* to);
  // to[i] = (number i - zero) * scale for n numbers of 4 bits in the format of Int4Dots::rhs. n is even.
  void (*dequantize_int4)(const uint8_t* x, int64_t n, float zero, float scale, float* to);
  // Writes to[k * width + j] = number k of column j * its scale, or 0 if there is no column j < width.
  void (*dequantize_panel)(const ScaledColumns& panel, int64_t width, float* to);
  // Writes min(0, smallest x[i]) and max(0, largest x[i]). Returns false if an x[i] is NaN.
  bool (*extremes)(const float* x, int64_t n, float* least, float* most);
  // Multiplies or adds two quantized operands and quantizes the result. `to` may be an operand. At least one step is 1,
  // unless n is 1.
  void (*combine)(bool multiply, const Int8Operand& a, const Int8Operand& b, const Int8Range& range, float inverse,
                  int64_t n, uint8_t* to);

  int int4_offset;  // pack_int4_lhs() adds this to each number
  // n is a multiple of 32.
  void (*pack_int4_lhs)(const int8_t* from, int64_t n, uint8_t* to);
  void (*int4_dots)(int64_t rows, int64_t columns, const Int4Dots& dots);
  // Null in sets for which int4_panel() is not faster than int4_dots(). expand_int4() writes `rhs` and `scales` of an
  // Int4Panel for columns [0, columns), at most kInt4Panel. The others become 0.
  void (*expand_int4)(const Int4Dots& dots, int64_t columns, int8_t* rhs, float* scales);
  void (*int4_panel)(int64_t rows, const Int4Panel& panel);
  void (*int4_row)(const Int4Row& row, int64_t columns);

  int scaled_rows;  // 8, or 1
  // `rows` is 1, 4 or 8, and at most scaled_rows.
  void (*add_scaled_dots)(int rows, const ScaledDots& dots);

  void (*requantize)(const Requantize& how, const SumRows& rows, uint8_t* out);
  void (*dequantize)(const Dequantize& how, const SumRows& rows, float* out);

  Int8Loops loops;
};

// Returns the best table for this machine, or the table that the environment variable RUSHLIGHT_ISA selects. It is
// chosen only once.
const Int8Microkernels& int8_microkernels();
// Returns a table by name (generic, avx2, avxvnni, avx512, avx512vnni, avx512amx, neon, neon_dotprod, neon_i8mm, rvv,
// rvv256), or null if this machine or build does not have it.
const Int8Microkernels* int8_microkernels_named(const char* name);

}  // namespace rushlight::microkernels
