// Float32 microkernels for channels-last images and for matrices that are packed ahead of time. A packed matrix [k, n]
// is a sequence of panels [k, gemm_vectors * width], without gaps. The last panel is narrower: it has as many whole
// vectors as the remaining columns need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight::microkernels {

enum class UnaryOp : uint8_t;
enum class F16Type : uint8_t;

// Long sums are split into partial sums of about this many terms, which are added up afterwards. The rounding error
// then grows with the square root of the number of terms of a partial sum, and not of the whole sum.
inline constexpr int64_t kTermsOfSum = 256;

// What is done with a result before it is stored, in this order: add the residual, clamp, apply the operator `op`.
struct Epilogue {
  const float* residual = nullptr;
  int64_t residual_step = 0;  // floats from row to row of the residual
  bool clamps = false;
  bool applies = false;
  UnaryOp op{};
  float low = 0, high = 0;  // bounds of the clamp
  float p = 0, q = 0;       // parameters of `op`
};

// What is done with the LHS of a GEMM before it is multiplied: clamp(x * scale + shift).
struct Prologue {
  const float* scale = nullptr;  // [channels], or null
  const float* shift = nullptr;  // [channels], or null
  float low = -__builtin_inff(), high = __builtin_inff();
};

// c[i, j] = epilogue((sum over t < taps, l < k of rows[t * row_step + i][first + l] * b[t * k + l, j]) +
// addend[i * addend_step + j] + bias[j]), in that order.
struct PanelTile {
  const float* const* rows;
  int64_t row_step;
  int64_t first;
  int64_t taps, k;
  const void* b;        // one packed panel
  const float* bias;    // [columns, rounded up to vectors], or null
  const float* addend;  // may be c, or null; F32PackedMicrokernels and F32HalfMicrokernels ignore it
  int64_t addend_step;
  float* c;
  int64_t c_step;
  int64_t columns;
  const void* ahead;   // memory to prefetch, or null
  int64_t ahead_step;  // number of bytes to prefetch for each l; if more than 64, only every second line is prefetched
  Epilogue epilogue;   // the residual may be c; it is prefetched into the L1 cache
  // A sum consists of partial sums of this many taps, or of this many terms of one tap. `sum_terms` is a multiple of
  // four or not less than k. If there is more than one partial sum, `totals` is scratch memory for one tile.
  int64_t sum_taps = INT64_MAX, sum_terms = INT64_MAX;
  float* totals = nullptr;
  bool continues = false;  // whether `totals` contains the sums of previous taps
};

// c[i, j] = epilogue(sum over t < taps, l < k of rows[t * row_step + i][first + l] * b[j * b_step + t * k + l] +
// bias[j]). k is a multiple of a vector. b has padded_columns() rows; those after the last column are 0.
struct DotTile {
  const float* const* rows;
  int64_t row_step;
  int64_t first;
  int64_t taps, k;
  const float* b;  // aligned to a vector, so that no load reads two cache lines
  int64_t b_step;
  const float* bias;  // [columns, rounded up to vectors], or null
  float* c;
  int64_t c_step;
  int64_t columns;
  Epilogue epilogue;  // the residual may be c

  // There is a function for 1, 3, 4, 6, 8, 10 and 12 columns.
  static int64_t padded_columns(int64_t columns) {
    return columns == 2 ? 3 : columns <= 4 ? columns : (columns + 1) / 2 * 2;
  }
};

// c[i, j] = epilogue(sum over l < k of lines[l][first + i * step] * b[l, j] + bias[j]). The LHS is stored column by
// column.
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

// Adjacent outputs in one row of a depthwise convolution, or in two rows. Two rows are possible if both strides are
// equal, the dilations are 1, and the window is 3 x 3 or 5 x 5 with a stride of 1 or 2, or 7 x 7 with a stride of 1.
struct DepthwiseRun {
  // Pointers to column 0 of the kernel_h + (rows - 1) * stride input rows of a plane, then of the next plane. A null
  // pointer stands for a row of padding.
  const float* const* lines;
  int64_t planes = 1;   // number of input planes whose results are added up
  int64_t rows;         // number of output rows, 1 or 2
  int64_t column_step;  // floats to the next column of the input
  int64_t columns;      // number of columns of the input; columns outside are padding
  int64_t left;         // the first input column of the first output's window
  int64_t kernel_h, kernel_w;
  int64_t stride, dilation;  // in columns
  const float* weights;  // [planes, kernel_h, kernel_w, channels], with strides weight_step (rows) and tap_step (taps)
  int64_t weight_step, tap_step;
  const float* bias;  // [channels] or null
  int64_t channels;
  float* out;  // must not overlap the input
  int64_t out_step, out_row_step;
  int64_t outputs;
  bool clamps;
  float low, high;
};

// Copies one row of an image for a grouped convolution into planes: plane i holds, for each output channel, channel i
// of the group that this output channel reads.
struct GroupedLine {
  const float* from;    // channel 0 of column 0
  int64_t column_step;  // floats to the next column
  int64_t columns;
  int64_t channels;      // number of channels of the row
  int64_t group_inputs;  // number of input channels of a group
  int64_t group_outputs;
  int64_t first, count;  // outputs [first, first + count); the first one begins a group
  float* to;             // [group_inputs, columns, count]
};

// The input channels of a grouped convolution, from the first channel of the first output's group on.
struct GroupedChannels {
  int64_t count;  // number of channels from there to the last channel of the image
  int64_t group_inputs, group_outputs;
};

// Winograd's transforms F(m x m, 3 x 3) of channels-last tiles. A tile has m + 2 rows and columns of input and m of
// output. With a stride of 2, it has 5 rows and columns of input, 3 of products, and 2 of output. The lanes of a vector
// are adjacent channels.
struct WinogradInput {
  const float* from;  // channel 0 of the upper left pixel
  int64_t line_step, column_step;
  int64_t first_line, lines, first_column, columns;  // the part of the tile inside of the image; the rest is padding
  int64_t channels;
  float* to;  // a row of channels for each transformed number of the tile, to_step floats apart
  int64_t to_step;
};
struct WinogradOutput {
  const float* from;  // a row of channels for each product, from_step floats apart
  int64_t from_step;
  int64_t channels;
  const float* bias;  // [channels] or null
  float* to;
  int64_t line_step, column_step;
  int64_t lines, columns;  // numbers of output lines and columns to store
  Epilogue epilogue;       // the residual has the steps of `to`
};
struct WinogradTransforms {
  // Transforms weights[9][channels], where channels = inputs * outputs, to (m + 2)^2 rows to[f * stride + c]. Null for
  // a stride of 2, because the compiler transforms these filters ahead of time.
  void (*filters)(const float* weights, int64_t channels, float* to, int64_t stride);
  // Returns false if an input is not finite, or so large (1e19) that its transform may be infinite.
  bool (*input)(const WinogradInput& tile);
  void (*output)(const WinogradOutput& tile);
};

// The gates of a recurrent layer are stored in blocks of this many units. A block contains all values of the first
// gate, then all values of the next gate.
inline constexpr int64_t kUnits = 16;

// One time step of one sequence. `gates` and `projected` contain whole blocks of 4 gates (LSTM: input, forget, cell,
// output) or 3 gates (GRU: reset, update, new). The argument of a gate is gates + projected. Only the new state of a
// GRU is different: tanh(projected + reset * gates).
struct RecurrentCell {
  const float* gates;
  const float* projected;
  const float* previous;  // [units], for GRU: the previous state
  float* cell;            // [units, rounded up to blocks], for LSTM: the cell state, which is changed in place
  int64_t units;
  float* out;  // [units]
};

// What is done with the scores of an attention before the softmax: multiply by `scale`, then add the masks.
struct AttentionMasks {
  float scale;
  const float* masks[2];  // masks of one query, or null; if the first is null, the second is null too
  bool may_be_empty;      // if all scores of a query are -infinity: whether its result is zeros and not NaN
};

// Queries [rows, depth] and their results [rows, width]. The keys are packed as [depth, keys], and the values as [keys,
// width].
struct AttentionTile {
  static constexpr int64_t kMaxRows = 64;

  const float* queries;
  int64_t query_step;
  int64_t rows;  // <= kMaxRows
  int64_t depth, keys, width;
  const float* packed_keys;
  const float* packed_values;
  bool is_causal;         // whether query i attends only to keys [0, seen + i)
  int64_t seen;           // equals `keys` unless is_causal
  AttentionMasks masks;   // masks of the first query
  int64_t mask_steps[2];  // floats from the mask of a query to that of the next query
  float* scores;          // [rows, score_step]
  int64_t score_step;     // floats from row to row of `scores`: at least `keys`, rounded up to vectors
  float* out;
  int64_t out_step;
};

// Results of a pooling. Result x of channel c is the maximum (NaN if there is one), or the sum multiplied by `scale`,
// of sources[i][x * in_step + c] for i < count.
struct PooledPixels {
  bool is_maximum;
  const float* const* sources;
  int64_t count;  // > 0
  int64_t pixels, channels;
  int64_t in_step, out_step;  // floats from one pixel to the next
  float scale;
  float* out;
};

struct F32PackedMicrokernels {
  // The maximum number of rows of a tile that is one vector wide. Wider tiles have fewer rows.
  int narrow_rows;
  // The maximum number of columns of dots().
  int dot_columns;
  // Whether each row count has a tile of its own. Otherwise, some row counts are computed in several parts.
  bool has_all_rows;

  // Executes `rounds` times gemm_rows * gemm_vectors * width independent multiply-adds on as many `sums`, to measure
  // the peak arithmetic speed.
  void (*saturate)(int64_t rounds, float* sums);
  // 1 <= rows <= gemm_rows (narrow_rows if the panel is one vector wide). It does not apply the epilogue's `op`;
  // apply() does that.
  void (*panel)(int rows, int vectors, const PanelTile& tile);
  // For products with at most dot_columns columns; it also applies the epilogue's `op`. Null if there is no such
  // function.
  void (*dots)(int64_t rows, const DotTile& tile);
  // 1 <= rows <= gemm_rows.
  void (*line)(int rows, int vectors, const LineTile& tile);
  // Computes one row: c[j] for the columns of a packed matrix from panel `b` on. It computes four panels at a time. If
  // `ends` is true, the remaining panels use several partial sums, which is faster and rounds differently (not in
  // WebAssembly, and not in the generic code for x86-64).
  void (*row)(const float* x, int64_t k, const float* b, const float* bias, float* c, int64_t columns, bool ends,
              const Epilogue& epilogue);
  // As panel(), for panels of 16-bit floats, which are converted to float32 in registers. 1 <= rows <= gemm_rows. Small
  // code has no such function: f16_panel is null.
  void (*f16_panel)(F16Type type, int rows, int vectors, const PanelTile& tile);
  void (*f16_row)(F16Type type, const float* x, int64_t k, const uint16_t* b, const float* bias, float* c,
                  int64_t columns, bool ends, const Epilogue& epilogue);
  void (*depthwise)(const DepthwiseRun& run);
  void (*grouped_line)(const GroupedLine& line);
  // Computes a grouped convolution with a window of 3 x 3. It reads the image without grouped_line(). run.planes is the
  // number of input channels of a group. A vector of outputs contains whole groups, and their inputs fit into one
  // vector. With vectors of 8 floats, a group has as many inputs as outputs, or 8 outputs. Null if the instruction set
  // cannot permute vectors.
  void (*grouped_3x3)(const DepthwiseRun& run, const GroupedChannels& groups);
  void (*pool)(const PooledPixels& pixels);
  // The transforms for tiles of 2, 3 and 4 outputs along an axis, and those for a stride of 2, which treat even and odd
  // rows and columns apart.
  WinogradTransforms winograd2, winograd3, winograd4, winograd_apart;
  // to[i * channels + c] = prologue(rows[i][c]), i < count, c < channels.
  void (*prologue)(const Prologue& prologue, const float* const* rows, int64_t count, int64_t channels, float* to);
  // Applies only the epilogue's `op`, to rows that are `step` floats apart.
  void (*apply)(const Epilogue& epilogue, float* c, int64_t step, int64_t rows, int64_t columns);
  void (*attention)(const AttentionTile& tile);
  // Applies `masks` to n scores and replaces each score by exp(score - maximum), or by 0 if the result would be
  // denormal. Returns 1 / (sum of the results). It writes whole vectors of `scores`. n > 0.
  float (*attention_share)(const AttentionMasks& masks, float* scores, int64_t n);
  void (*lstm)(const RecurrentCell& cell);
  void (*gru)(const RecurrentCell& cell);

  // Returns the transforms of F(m x m, 3 x 3), 2 <= m <= 4.
  const WinogradTransforms& winograd(int64_t m) const { return m == 2 ? winograd2 : m == 3 ? winograd3 : winograd4; }
};

}  // namespace rushlight::microkernels
