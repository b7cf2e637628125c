// Inner loops over float32, one table for each instruction set. They work on arrays and do not use tensors: the caller
// (a kernel, or a step of a plan) divides the work into tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/window.h"

namespace rushlight::microkernels {

// Whether the bias of a GEMM belongs to its rows or its columns.
enum class BiasOf : uint8_t {
  None,
  Rows,     // bias[i] for row i
  Columns,  // bias[j] for column j
};

// c[i, j] = sum over l < k of a[i, l] * b[l, j] + (c[i, j] if `accumulates`) + bias. The sum consists of partial sums
// of kTermsOfSum terms, and each is added to the ones before it. Terms are added with ascending l. Each product is
// fused with the addition if the instruction set supports this.
struct GemmTile {
  const float* a;  // [rows, k], row stride lda
  int64_t lda;
  const float* b;  // [k, vectors * width], packed, aligned to a vector
  int64_t k;
  BiasOf bias_of;
  const float* bias;  // [rows] or [vectors * width]
  float* c;           // [rows, vectors * width], row stride ldc
  int64_t ldc;
  const float* next_a = nullptr;  // the LHS of the next tile, which is prefetched; or null
  bool accumulates = false;
};

// A row-major plane of a depthwise convolution or a pooling. stride_w is 1 or 2.
struct DepthwisePlane : Window {
  int64_t height, width;
  int64_t out_height, out_width;
  int64_t band;  // number of output rows that are computed from one padded copy of their input
  int64_t row;   // floats in a row of that copy; see depthwise_row()
};

enum class UnaryOp : uint8_t {
  Abs,
  Neg,
  Relu,
  Clamp,      // to [p, q]
  LeakyRelu,  // slope p
  HardSigmoid,
  HardSwish,
  Sqrt,
  Rsqrt,
  Reciprocal,
  Square,
  Cube,
  Affine,  // p * x + q
  ReciprocalSquare,
  Exp,
  Log,
  Tanh,
  Erf,
  Sigmoid,
  Silu,
  Gelu,
  GeluTanh,
  Sin,
  Cos,
  Log1p,
  Expm1,
  Log2,
  Log10,
  Softplus,  // log(1 + e^(p x)) / p, or x where p x > q
  Mish,
  Elu,  // q x where x > 0, else p (e^x - 1)
  Floor,
  Ceil,
  Trunc,
  Round,  // ties to even
  Sign,
};

// A pass of Stockham's Fourier transform of several lines, with one line in each lane of a vector. A point is a vector
// of real parts followed by a vector of imaginary parts.
//   out[q + stride * (radix * p + j)] = twiddle(p, j) * sum over k of root^(j k) * in[q + stride * (p + parts * k)]
// for q < stride, p < parts and j < radix, where root is exp(-2 pi i / radix). In an inverse transform, root and the
// twiddle factors have the opposite sign in the exponent.
struct FftPass {
  int radix;  // 2, 4, or odd and at most kMaxFftRadix
  bool inverse;
  int64_t parts;
  int64_t stride;
  const float* twiddles;  // [parts, radix - 1, 2]: for j > 0 exp(-2 pi i p j / (radix * parts))
  const float* roots;     // [radix, 2]: exp(-2 pi i k / radix)
};
inline constexpr int kMaxFftRadix = 61;

enum class BinaryOp : uint8_t {
  Add,
  AddScaled,  // a + p * b
  Sub,
  Mul,
  Div,
  Maximum,
  Minimum,
  Atan2,  // atan2(a, b)
};

enum class CompareOp : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

// The rows of a normalization: x [rows, n] and y [rows, n], whose rows are x_step and y_step floats apart. y may be x.
struct NormalizedRows {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t x_step = 0, y_step = 0;
  int64_t rows = 0, n = 0;
  bool subtracts_mean = true;     // otherwise the mean counts as 0
  double epsilon = 0;             // is added to the variance
  const float* weight = nullptr;  // [n] or null
  const float* bias = nullptr;    // [n] or null
  float* means = nullptr;         // receives the mean of each row; may be null
  float* scales = nullptr;        // receives the reciprocal of the standard deviation of each row; may be null
};

struct F32PackedMicrokernels;  // see f32_packed.h

// The microkernels for one instruction set.
struct F32Microkernels {
  const char* name;
  int width;         // number of floats in a vector
  int gemm_rows;     // maximum rows of a GEMM tile
  int gemm_vectors;  // maximum vectors in a row of a GEMM tile

  // 1 <= rows <= gemm_rows, 1 <= vectors <= gemm_vectors.
  void (*gemm)(int rows, int vectors, const GemmTile& tile);

  // Packs b[k, columns] as to[k, vectors * width]. The columns from `columns` on are set to zero.
  void (*pack_rows)(int vectors, const float* b, int64_t ldb, int64_t k, int64_t columns, float* to);
  // As pack_rows(), for a transposed b: to[l, j] = b[j * ldb + l].
  void (*pack_transposed)(int vectors, const float* b, int64_t ldb, int64_t k, int64_t columns, float* to);
  // As pack_rows(), for rows that start at b[offsets[l]]. Whole vectors are read.
  void (*pack_gathered)(int vectors, const float* b, const int32_t* offsets, int64_t k, float* to);

  // c[i, j] += dot product of row a[i] and row b[j], which have k floats.
  void (*add_dots)(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                   float* c, int64_t ldc);
  // c[j] += sum over l < k of x[l] * b[l, j], j < n. Partial sums of kTermsOfSum terms are added to c.
  void (*add_scaled_rows)(int64_t k, const float* x, const float* b, int64_t ldb, int64_t n, float* c);

  // `scratch` has depthwise_scratch() floats. The caller sets them to zero once for all planes of one shape. The
  // padding in it stays zero.
  void (*depthwise)(const DepthwisePlane& plane, const float* input, const float* weights, float bias, float* out,
                    float* scratch);

  // out[c] = bias[c] + sum over taps of weights[tap * channels + c] * sources[tap][c]; bias may be null.
  void (*depthwise_pixel)(const float* const* sources, const float* weights, int64_t taps, int64_t channels,
                          const float* bias, float* out);

  // Winograd F(2 x 2, 3 x 3): transforms n filters weights[i * 9 + tap] into 16 rows to[f * stride + i].
  void (*winograd_weights)(const float* weights, int64_t n, float* to, int64_t stride);
  // Transforms n input tiles of 4 x 4 into 16 rows to[f * stride + i]. Element (y, x) of tile i is
  // source[offsets[y * 4 + x] + i]. Reads and writes whole vectors.
  void (*winograd_input)(const float* source, const int32_t* offsets, int64_t n, float* to, int64_t stride);
  // Transforms n tiles of products, 16 rows products[f * stride + i], into 2 n outputs of an upper and of a lower row.
  // Reads and writes whole vectors.
  void (*winograd_output)(const float* products, int64_t stride, int64_t n, float bias, float* upper, float* lower);

  // to[i] = from[i * stride], i < n.
  void (*copy_strided)(const float* from, int64_t stride, int64_t n, float* to);

  // y[i] = op(x[i]), i < n; y may be x.
  void (*unary)(UnaryOp op, const float* x, float* y, int64_t n, float p, float q);
  // y[i] = op(a[i * a_step], b[i * b_step]), i < n. A step is 1 or 0, and one step is 1. y may be an operand with step
  // 1.
  void (*binary)(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n,
                 float p);
  // y[j] = op(y[j], x[i * stride + j]) for i < rows, j < n. `op` is Add, Maximum or Minimum. Add first adds groups of
  // eight rows.
  void (*reduce_rows)(BinaryOp op, const float* x, int64_t stride, int64_t rows, float* y, int64_t n);
  // y[j] += sum over i < count of scales[i] * table[rows[i] * stride + j] for j < n, with ascending i. No scales (null)
  // are scales of 1.
  void (*add_gathered_rows)(const float* table, int64_t stride, const int64_t* rows, const float* scales, int64_t count,
                            float* y, int64_t n);
  double (*sum)(const float* x, int64_t n);
  double (*squared_deviations)(const float* x, int64_t n, float mean);
  // Returns the largest or smallest x[i], or NaN if an x[i] is NaN. n > 0.
  float (*extreme)(bool largest, const float* x, int64_t n);
  // Writes an integer key for each x[i]. Keys compare as the numbers do, in the opposite order unless `largest`. -0
  // equals 0, and NaN is above all numbers. Group g consists of the x[i] with i % groups == g. maxima[g] becomes a key
  // of group g, or INT32_MIN. `groups` is a multiple of `width`, or 0.
  void (*order_keys)(bool largest, const float* x, int64_t n, int64_t groups, int32_t* keys, int32_t* maxima);
  // Writes all i < n with keys[i] >= least to `positions` [n] in ascending order, and returns their number.
  int64_t (*find_keys)(const int32_t* keys, int64_t n, int32_t least, int32_t* positions);
  // y = (x - mean) / sqrt(variance + epsilon) * weight + bias, with the mean and the variance of each row.
  void (*normalize_rows)(const NormalizedRows& rows);
  // Divides each row of x [rows, n] by the larger of its Euclidean norm and epsilon. The rows of x are x_step floats
  // apart, those of y y_step. y may be x.
  void (*divide_by_norms)(const float* x, int64_t x_step, float* y, int64_t y_step, int64_t rows, int64_t n,
                          float epsilon);
  // Softmax or log-softmax of a row. n > 0. y may be x.
  void (*softmax)(bool logarithm, const float* x, float* y, int64_t n);
  // As softmax(), for each of `columns` columns. A column has n elements, which are `stride` floats apart.
  void (*softmax_columns)(bool logarithm, const float* x, float* y, int64_t n, int64_t stride, int64_t columns);
  // Writes the first maximum of each window, or its last NaN if it has one, and the index in the plane. `scratch` is as
  // for depthwise(), but the caller sets it to -infinity.
  void (*max_pool)(const DepthwisePlane& plane, const float* input, float* out, int64_t* indices, float* scratch);

  void (*fft_pass)(const FftPass& pass, const float* in, float* out);
  // Computes points 0 to n of the transform of 2 n real numbers x, times `scale`. `in` is the transform of the n
  // complex points x[2 j] + i x[2 j + 1]. roots[k] is exp(-pi i k / n), as two floats; k <= n / 2.
  void (*fft_of_real)(int64_t n, const float* roots, float scale, const float* in, float* out);
  // The inverse of fft_of_real(). `in` contains points 0 to n of the transform of 2 n real numbers x; points 0 and n
  // are real. Writes the n points whose inverse transform is `scale` times x[2 j] + i x[2 j + 1].
  void (*fft_to_real)(int64_t n, const float* roots, float scale, const float* in, float* out);

  // y[i] = 1 if the comparison is true, else 0. A step is 1 or 0.
  void (*compare)(CompareOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, uint8_t* y, int64_t n);
  // y[i] = c[i] ? a[i] : b[i]. Steps are 1 or 0.
  void (*where)(const uint8_t* c, int64_t c_step, const float* a, int64_t a_step, const float* b, int64_t b_step,
                float* y, int64_t n);

  const F32PackedMicrokernels* packed;
};

// Returns the number of floats in a padded row, including the floats that vector loads read beyond its end.
inline int64_t depthwise_row(const DepthwisePlane& plane, const F32Microkernels& kernels) {
  const int64_t outputs = plane.out_width > kernels.width ? plane.out_width : kernels.width;
  const int64_t reach = outputs * plane.stride_w + (plane.kernel_w - 1) * plane.dilation_w;
  return (reach + kernels.width) / kernels.width * kernels.width;
}
inline int64_t depthwise_scratch(const DepthwisePlane& plane) {
  return ((plane.band - 1) * plane.stride_h + (plane.kernel_h - 1) * plane.dilation_h + 1) * plane.row;
}

// Returns the number of rows of a tile, at most `most`. `step` is the distance between rows of the LHS in floats, or 0
// if it is not known. If the distance is a multiple of 4 KB, the rows use the same set of the L1 cache, which has at
// least eight ways.
inline int64_t tile_rows(int64_t most, int64_t step) {
  constexpr int64_t kSetFloats = 1024, kWays = 8;
  return step != 0 && step % kSetFloats == 0 && most > kWays ? kWays : most;
}

// Returns the name of the instruction set that the environment variable RUSHLIGHT_ISA selects, or null. The variable is
// read once. If the name is unknown, a warning is logged.
const char* wanted_isa();
// Returns the best table for this machine, or the table that the environment variable RUSHLIGHT_ISA (generic, avx2,
// rvv, ...) selects. It is chosen only once.
const F32Microkernels& f32_microkernels();
// Returns a table by name, or null if this machine or build does not have it.
const F32Microkernels* f32_microkernels_named(const char* name);

}  // namespace rushlight::microkernels
