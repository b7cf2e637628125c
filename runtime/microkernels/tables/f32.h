// Inner loops over float32, one set of them for each instruction set. They know no tensors: a caller (a kernel, or a
// plan made ahead of time) lays out the work and calls tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/window.h"

namespace rushlight::microkernels {

enum class GemmInit : uint8_t {
  Zero,
  Row,         // bias[i] for row i
  Column,      // bias[j] for column j
  Accumulate,  // what c holds
};

// c[i, j] = init + sum over l < k of a[i, l] * b[l, j], l ascending, each product fused into the sum where the
// instruction set can.
struct GemmTile {
  const float* a;  // [rows, k], row stride lda
  int64_t lda;
  const float* b;  // [k, vectors * width], packed, aligned to a vector
  int64_t k;
  GemmInit init;
  const float* bias;  // [rows] or [vectors * width]
  float* c;           // [rows, vectors * width], row stride ldc
  int64_t ldc;
  const float* next_a = nullptr;  // if set, rows from here are fetched into cache meanwhile
};

// A plane over which a window moves (of a depthwise convolution or a pooling), in row-major order; stride_w is 1 or 2.
struct DepthwisePlane : Window {
  int64_t height, width;
  int64_t out_height, out_width;
  int64_t band;  // rows of output whose input is held padded at a time
  int64_t row;   // floats in a padded row; see depthwise_row()
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

// A pass of a Fourier transform (Stockham's order) over the lines in the lanes of vectors: a point is a vector of real
// parts, then one of imaginary parts.
//   out[q + stride * (radix * p + j)] = twiddle(p, j) * sum over k of root^(j k) * in[q + stride * (p + parts * k)]
// for q < stride, p < parts and j < radix, where root is exp(-2 pi i / radix). An inverse transform has 2 pi i.
struct FftPass {
  int radix;  // 2, 4, or odd and at most kMostFftRadix
  bool inverse;
  int64_t parts;
  int64_t stride;
  const float* twiddles;  // [parts, radix - 1, 2]: for j > 0 exp(-2 pi i p j / (radix * parts))
  const float* roots;     // [radix, 2]: exp(-2 pi i k / radix)
};
inline constexpr int kMostFftRadix = 61;

enum class BinaryOp : uint8_t {
  Add,
  AddScaled,  // a + p * b
  Sub,
  Mul,
  Div,
  Maximum,
  Minimum,
  Atan2,  // of the point (b, a)
};

enum class CompareOp : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

struct F32PackedMicrokernels;  // see packed.h

// The set of tiles for one instruction set.
struct F32Microkernels {
  const char* name;
  int width;         // floats in a vector
  int gemm_rows;     // most rows of a GEMM tile
  int gemm_vectors;  // most vectors across a GEMM tile

  // 1 <= rows <= gemm_rows, 1 <= vectors <= gemm_vectors.
  void (*gemm)(int rows, int vectors, const GemmTile& tile);

  // Packing of `to[k, vectors * width]`; columns beyond `columns` become zero.
  void (*pack_rows)(int vectors, const float* b, int64_t ldb, int64_t k, int64_t columns, float* to);
  // b[j * ldb + l] becomes to[l, j].
  void (*pack_transposed)(int vectors, const float* b, int64_t ldb, int64_t k, int64_t columns, float* to);
  // Row l is b[offsets[l] ...], read whole.
  void (*pack_gathered)(int vectors, const float* b, const int32_t* offsets, int64_t k, float* to);

  // c[i, j] += a[i] . b[j]: rows of k floats.
  void (*add_dots)(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
                   float* c, int64_t ldc);
  // c[j] += sum over l < k of x[l] * b[l, j], j < n.
  void (*add_scaled_rows)(int64_t k, const float* x, const float* b, int64_t ldb, int64_t n, float* c);

  // `scratch` has depthwise_scratch() floats, zero at first; it keeps zeros where planes of one shape have padding.
  void (*depthwise)(const DepthwisePlane& plane, const float* input, const float* weights, float bias, float* out,
                    float* scratch);

  // out[c] = bias[c] + sum over taps of weights[tap * channels + c] * sources[tap][c]; bias may be null.
  void (*depthwise_pixel)(const float* const* sources, const float* weights, int64_t taps, int64_t channels,
                          const float* bias, float* out);

  // F(2 x 2, 3 x 3): n filters weights[i * 9 + tap] to 16 rows to[f * stride + i].
  void (*winograd_weights)(const float* weights, int64_t n, float* to, int64_t stride);
  // n tiles of 4 x 4, whose elements (y, x) are at source[offsets[y * 4 + x] + i], to 16 rows to[f * stride + i]. Reads
  // and writes whole vectors.
  void (*winograd_input)(const float* source, const int32_t* offsets, int64_t n, float* to, int64_t stride);
  // n sums of products, in 16 rows products[f * stride + i], to 2 n outputs of an upper and a lower row. Reads and
  // writes whole vectors.
  void (*winograd_output)(const float* products, int64_t stride, int64_t n, float bias, float* upper, float* lower);

  // to[i] = from[i * stride], i < n.
  void (*copy_strided)(const float* from, int64_t stride, int64_t n, float* to);

  // y[i] = op(x[i]), i < n; y may be x.
  void (*unary)(UnaryOp op, const float* x, float* y, int64_t n, float p, float q);
  // y[i] = op(a[i * a_step], b[i * b_step]); a step is 1 or 0, not both 0. y may be an operand with step 1.
  void (*binary)(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n,
                 float p);
  // y[j] = op(y[j], x[i * stride + j]) for i < rows, j < n; op is Add, Maximum or Minimum. Sums of eight rows are added
  // at a time.
  void (*reduce_rows)(BinaryOp op, const float* x, int64_t stride, int64_t rows, float* y, int64_t n);
  double (*sum)(const float* x, int64_t n);
  double (*squared_deviations)(const float* x, int64_t n, float mean);
  // NaN if there is one; n > 0.
  float (*extreme)(bool largest, const float* x, int64_t n);
  // keys[i] is an integer in the order of x[i], or in the opposite order: -0 is 0, and every NaN is above all numbers.
  // maxima[g] is at most the largest key of those x[i] whose i is g modulo `groups`, and a key of one of them or
  // INT32_MIN. `groups` is a multiple of `width`, or 0.
  void (*order_keys)(bool largest, const float* x, int64_t n, int64_t groups, int32_t* keys, int32_t* maxima);
  // The i < n with keys[i] >= least, ascending; returns their number. `positions` has n elements.
  int64_t (*find_keys)(const int32_t* keys, int64_t n, int32_t least, int32_t* positions);
  // y = (x - mean) * scale * weight + bias; weight and bias [n] or null. y may be x.
  void (*normalize)(const float* x, float* y, int64_t n, float mean, float scale, const float* weight,
                    const float* bias);
  // Softmax, or its logarithm, of a row; n > 0, y may be x.
  void (*softmax)(bool logarithm, const float* x, float* y, int64_t n);
  // Of each of `columns` columns of n rows, `stride` apart.
  void (*softmax_columns)(bool logarithm, const float* x, float* y, int64_t n, int64_t stride, int64_t columns);
  // The first largest of each window, or the last NaN, and where in the plane it is. `scratch` as for depthwise(), but
  // -infinity at first.
  void (*max_pool)(const DepthwisePlane& plane, const float* input, float* out, int64_t* indices, float* scratch);

  void (*fft_pass)(const FftPass& pass, const float* in, float* out);
  // Points 0 to n, times `scale`, of the transform of 2 n real numbers x, from the transform `in` of the n points
  // x[2 j] + i x[2 j + 1]. roots[k] is exp(-pi i k / n), as two floats; k <= n / 2.
  void (*fft_of_real)(int64_t n, const float* roots, float scale, const float* in, float* out);
  // From points 0 to n, of which the first and the last are real, the n points whose inverse transform is `scale` times
  // x[2 j] + i x[2 j + 1], where x is their inverse transform of 2 n real numbers (without a factor).
  void (*fft_to_real)(int64_t n, const float* roots, float scale, const float* in, float* out);

  // 1 or 0.
  void (*compare)(CompareOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, uint8_t* y, int64_t n);
  // y[i] = c ? a : b; steps are 1 or 0.
  void (*where)(const uint8_t* c, int64_t c_step, const float* a, int64_t a_step, const float* b, int64_t b_step,
                float* y, int64_t n);

  const F32PackedMicrokernels* packed;
};

// Floats in a padded row, with what vectors read beyond it.
inline int64_t depthwise_row(const DepthwisePlane& plane, const F32Microkernels& kernels) {
  const int64_t outputs = plane.out_width > kernels.width ? plane.out_width : kernels.width;
  const int64_t reach = outputs * plane.stride_w + (plane.kernel_w - 1) * plane.dilation_w;
  return (reach + kernels.width) / kernels.width * kernels.width;
}
inline int64_t depthwise_scratch(const DepthwisePlane& plane) {
  return ((plane.band - 1) * plane.stride_h + (plane.kernel_h - 1) * plane.dilation_h + 1) * plane.row;
}

// Rows of a tile of at most `most`, if the LHS has `step` floats from one row to the next, or 0 if that is not
// known. Rows a multiple of 4 KB apart are in the same set of a first level cache, which has eight ways or more.
inline int64_t tile_rows(int64_t most, int64_t step) {
  constexpr int64_t kSetFloats = 1024, kWays = 8;
  return step != 0 && step % kSetFloats == 0 && most > kWays ? kWays : most;
}

// The instruction set that RUSHLIGHT_ISA in the environment asks for, or null. It is read once; the log warns of a name
// that no machine has.
const char* wanted_isa();
// The best set for this machine, chosen once. RUSHLIGHT_ISA (generic, avx2, rvv, ...) in the environment asks for a
// lesser one.
const F32Microkernels& f32_microkernels();
// By name, or null if this machine or build has none.
const F32Microkernels* f32_microkernels_named(const char* name);

}  // namespace rushlight::microkernels
