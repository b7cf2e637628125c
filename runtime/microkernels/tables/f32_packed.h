// F32Microkernels over channels-last images and over matrices packed ahead of time. A packed matrix [k, n] is a row of
// panels of gemm_vectors * width columns, each [k, columns] without gaps; the last is as many whole vectors wide as it
// needs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight::microkernels {

enum class UnaryOp : uint8_t;
enum class F16Type : uint8_t;

// Terms that are summed up one after the other, about. Rounding errors of a sum grow with the root of this number, not
// with that of all terms: sums of so many are summed up then.
inline constexpr int64_t kTermsOfSum = 256;

// What is done to a result before it is stored: the residual is added, then it is clamped, then `op` is applied.
struct Epilogue {
  const float* residual = nullptr;
  int64_t residual_step = 0;  // floats to the next row
  bool clamps = false;
  bool applies = false;
  UnaryOp op{};
  float low = 0, high = 0;  // of the clamp
  float p = 0, q = 0;       // of `op`
};

// What becomes of a row before it is multiplied: x * scale + shift, clamped.
struct Prologue {
  const float* scale = nullptr;  // [channels], or null
  const float* shift = nullptr;  // the same
  float low = -__builtin_inff(), high = __builtin_inff();
};

// c[i, j] = epilogue((bias[j] + sum over t < taps, l < k of rows[t * row_step + i][first + l] * b[t * k + l, j]) +
// addend[i * addend_step + j]), in that order.
struct PanelTile {
  const float* const* rows;
  int64_t row_step;
  int64_t first;
  int64_t taps, k;
  const void* b;        // one panel, of floats
  const float* bias;    // [columns, rounded up to vectors], or null
  const float* addend;  // or null; may be c
  int64_t addend_step;
  float* c;
  int64_t c_step;
  int64_t columns;
  const void* ahead;   // memory that is fetched into cache meanwhile, or null:
  int64_t ahead_step;  // so many bytes with each l
  Epilogue epilogue;   // its residual, which may be c, is fetched into the first level cache meanwhile
};

// c[i, j] = epilogue(bias[j] + sum over l < k of lines[l][first + i * step] * b[l, j]): the LHS lies in
// columns.
struct LineTile {
  const float* const* lines;
  int64_t first, step;
  int64_t k;
  const float* b;     // one panel
  const float* bias;  // [columns, rounded up to vectors], or null
  float* c;
  int64_t c_step;
  int64_t columns;
  Epilogue epilogue;
};

// Outputs next to each other in a row of a depthwise convolution, or in two rows if both strides are equal, dilations
// are 1, and windows are 3 x 3, 5 x 5 with strides of at most 2 or 7 x 7 with strides of 1.
struct DepthwiseRun {
  // Column 0 of the kernel_h + (rows - 1) * stride rows under the windows, null if a row does not exist; then the rows
  // of the next plane.
  const float* const* lines;
  int64_t planes = 1;   // inputs whose results are added up
  int64_t rows;         // of outputs
  int64_t column_step;  // floats to the next column of the input
  int64_t columns;      // those that exist: others are zero
  int64_t left;         // the first column under the window of the first output
  int64_t kernel_h, kernel_w;
  int64_t stride, dilation;  // columns
  const float* weights;      // [planes, kernel_h, kernel_w, channels]: rows are weight_step apart, taps tap_step
  int64_t weight_step, tap_step;
  const float* bias;  // [channels] or null
  int64_t channels;
  float* out;  // no part of the input
  int64_t out_step, out_row_step;
  int64_t outputs;
  bool clamps;
  float low, high;
};

// One row of an image, whose channels are in groups, as planes: plane i has, for each channel of an output, channel i
// of the group that this output reads.
struct GroupedLine {
  const float* from;    // channel 0 of column 0
  int64_t column_step;  // floats to the next column
  int64_t columns;
  int64_t channels;      // of the row
  int64_t group_inputs;  // channels of a group
  int64_t group_outputs;
  int64_t first, count;  // outputs [first, first + count), which begin with a group
  float* to;             // [group_inputs, columns, count]
};

// The channels of an image that a grouped convolution reads for its outputs, of which the first is that of a group.
struct GroupedChannels {
  int64_t count;  // of the image, from the first output's group on
  int64_t group_inputs, group_outputs;
};

// F32Microkernels of F(m x m, 3 x 3): m + 2 rows and columns of input, m of output. Of windows two pixels apart: 5 of
// input, 3 of products, 2 of output. Vectors along channels.
struct WinogradInput {
  const float* from;  // channel 0 of the upper left pixel
  int64_t line_step, column_step;
  int64_t first_line, lines, first_column, columns;  // those that exist: others are zero
  int64_t channels;
  float* to;  // as many rows of channels as there are pixels, to_step apart
  int64_t to_step;
};
struct WinogradOutput {
  const float* from;  // a row of channels for each product, from_step apart
  int64_t from_step;
  int64_t channels;
  const float* bias;  // [channels] or null
  float* to;
  int64_t line_step, column_step;
  int64_t lines, columns;  // those that are stored
  Epilogue epilogue;       // the residual has the steps of `to`
};
struct WinogradTransforms {
  // weights[9][channels] (channels: products of inputs and outputs) to (m + 2)^2 rows to[f * stride + c]. Null for
  // windows two pixels apart, whose filters are transformed ahead of time.
  void (*filters)(const float* weights, int64_t channels, float* to, int64_t stride);
  // False if a number of the input is not finite, or so large that transformed numbers may not be (1e19).
  bool (*input)(const WinogradInput& tile);
  void (*output)(const WinogradOutput& tile);
};

// The gates of a recurrent layer are in blocks of this many units: a block holds those of its units, gate by gate.
inline constexpr int64_t kUnits = 16;

// One step of one sequence. Both arrays of gates hold whole blocks of 4 (LSTM: input, forget, cell, output) or 3 (GRU:
// reset, update, new) gates; a gate's argument is the sum of both, but for GRU's new state, which is
// tanh(projected + reset * gates).
struct RecurrentCell {
  const float* gates;
  const float* projected;
  const float* previous;  // [units], GRU's state before
  float* cell;            // [units, rounded up to blocks], LSTM's, changed in place
  int64_t units;
  float* out;  // [units]
};

// What is done to the scores of an attention before their exponentials: times scale, plus each mask that is there.
struct AttentionMasks {
  float scale;
  const float* masks[2];  // of one query, or null; the second only with the first
  bool may_be_empty;      // whether a query whose scores are all -infinity gets zeros; NaN otherwise
};

// Queries [rows, depth] and their results [rows, width] for keys packed as [depth, keys], values packed as [keys,
// width].
struct AttentionTile {
  static constexpr int64_t kMostRows = 64;

  const float* queries;
  int64_t query_step;
  int64_t rows;  // <= kMostRows
  int64_t depth, keys, width;
  const float* packed_keys;
  const float* packed_values;
  bool is_causal;         // then the first query sees keys [0, seen), the next ones one more each
  int64_t seen;           // keys, unless is_causal
  AttentionMasks masks;   // of the first query
  int64_t mask_steps[2];  // floats to the next query's
  float* scores;          // [rows, score_step]
  int64_t score_step;     // at least `keys`, rounded up to vectors
  float* out;
  int64_t out_step;
};

struct F32PackedMicrokernels {
  // Rows of a tile that is `vectors` wide: most for one vector, least for the widest.
  int narrow_rows;

  // `rounds` times gemm_rows * gemm_vectors * width independent multiplications and additions, on so many `sums`.
  void (*saturate)(int64_t rounds, float* sums);
  // 1 <= rows <= gemm_rows (narrow_rows if the panel is one vector wide). The epilogue's `op` is left to apply().
  void (*panel)(int rows, int vectors, const PanelTile& tile);
  // 1 <= rows <= gemm_rows.
  void (*line)(int rows, int vectors, const LineTile& tile);
  // One row: c[j] for the columns of a packed matrix from panel `b` on. ends: what is left of fours of panels is added
  // up in several sums, which are faster than one and have another order.
  void (*row)(const float* x, int64_t k, const float* b, const float* bias, float* c, int64_t columns, bool ends,
              const Epilogue& epilogue);
  // The same for panels of 16-bit floats, which become float32 in registers; 1 <= rows <= gemm_rows.
  void (*f16_panel)(F16Type type, int rows, int vectors, const PanelTile& tile);
  void (*f16_row)(F16Type type, const float* x, int64_t k, const uint16_t* b, const float* bias, float* c,
                  int64_t columns, bool ends, const Epilogue& epilogue);
  void (*depthwise)(const DepthwiseRun& run);
  void (*grouped_line)(const GroupedLine& line);
  // Windows of 3 x 3 over the input itself; run.planes are the channels of a group. Vectors of outputs are whole
  // groups, which lie in a vector of the input. Null where no instruction permutes vectors.
  void (*grouped_3x3)(const DepthwiseRun& run, const GroupedChannels& groups);
  // out[c] = scale * sum, or the maximum (NaN if there is one), of sources[i][c], i < count; count > 0.
  void (*pool)(bool maximum, const float* const* sources, int64_t count, int64_t channels, float scale, float* out);
  WinogradTransforms winograd2, winograd3, winograd4, winograd_apart;
  // rows[i][c] to to[i * channels + c], i < count, c < channels.
  void (*prologue)(const Prologue& prologue, const float* const* rows, int64_t count, int64_t channels, float* to);
  // Applies the epilogue's `op` alone to rows that are `step` apart.
  void (*apply)(const Epilogue& epilogue, float* c, int64_t step, int64_t rows, int64_t columns);
  void (*attention)(const AttentionTile& tile);
  // n scores to exponentials, or 0 where those would hardly be normal numbers, less the largest; what their sum is to
  // be multiplied by for 1. The vectors that hold `scores` are written whole. n > 0.
  float (*attention_share)(const AttentionMasks& masks, float* scores, int64_t n);
  void (*lstm)(const RecurrentCell& cell);
  void (*gru)(const RecurrentCell& cell);

  // Those of F(m x m, 3 x 3), 2 <= m <= 4.
  const WinogradTransforms& winograd(int64_t m) const { return m == 2 ? winograd2 : m == 3 ? winograd3 : winograd4; }
};

}  // namespace rushlight::microkernels
