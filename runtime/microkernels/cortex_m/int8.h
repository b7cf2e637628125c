// Loops over int8 and uint8 tensors for microcontrollers: they read weights and images where they lie, in any layout,
// and need little scratch memory. The compiler's macros choose the instructions: Helium (MVE with floats) or the DSP
// extension of Armv7E-M. Builds for other processors have none of these loops.
//
// All results are those of the kernels that call them, bit for bit: sums of integers are exact, and float32 operations
// are the same ones in the same order. A byte XOR `flip` is an int8 number; flip is 0 for int8 and 0x80 for uint8,
// whose zero points are 128 less here.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(RUSHLIGHT_CORTEX_M) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#define RL_CORTEX_M_MVE 1
#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FP)
#define RL_CORTEX_M_DSP 1
#endif
#endif
#if defined(RL_CORTEX_M_MVE) || defined(RL_CORTEX_M_DSP)
#define RL_CORTEX_M_INT8 1
#endif

namespace rushlight::microkernels::cortex_m {

#if defined(RL_CORTEX_M_INT8)
inline constexpr bool kHasInt8 = true;
#else
inline constexpr bool kHasInt8 = false;
#endif

// Real numbers to quantized ones: clamp(round(real * inverse), least, most) + zero, with ties to even. No real number
// is NaN.
struct Int8Output {
  float inverse = 1;
  int32_t zero = 0, least = 0, most = 0;  // the bounds are less by `zero`
};

// Returns whether results of the loops do not depend on numbers that are infinite, or so small that Helium takes them
// for 0: factors are 0 or between 2^-100 and 2^100.
inline bool is_usual(float factor) {
  const float magnitude = std::fabs(factor);
  return factor == 0 || (magnitude >= 0x1p-100f && magnitude <= 0x1p100f);
}

// Takes whole numbers as float32. Returns false if the factor is unusual, or 0, or a zero point is beyond 2^20.
inline bool set_output(float inverse, float zero, float least, float most, Int8Output* output) {
  if (!is_usual(inverse) || inverse == 0 || !(std::fabs(zero) <= 0x1p20f) || !(least <= most)) return false;
  output->inverse = inverse;
  output->zero = static_cast<int32_t>(zero);
  output->least = static_cast<int32_t>(least - zero);
  output->most = static_cast<int32_t>(most - zero);
  return true;
}

// real = sum * factor + offset for an output channel. The factor is usual, and the offset finite.
struct Int8Channel {
  float factor = 0, offset = 0;
  int32_t correction = 0;  // of the loops' own
};

// Sizes and strides, in elements, of an image [batch, channels, height, width].
struct ImageShape {
  int32_t batch = 1, channels = 1, height = 1, width = 1;
  int32_t batch_stride = 0, channel_stride = 0, row_stride = 0, column_stride = 0;
};

// A window over height and width, without `pad` rows and columns before the first ones.
struct ImageWindow {
  int32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation_h = 1, dilation_w = 1;
};

// A convolution. Weights are densely packed, with the output channel outermost.
struct Int8Convolution {
  ImageShape in, out;
  ImageWindow window;
  int32_t groups = 1;
  int32_t weight_channel_stride = 0, weight_row_stride = 0, weight_column_stride = 0;
  uint8_t flip = 0;
  int32_t zero = 0;                 // of the input, an int8 number
  Int8Channel* channels = nullptr;  // [out.channels]; the loops set corrections
  Int8Output output;

  int32_t depth() const { return in.channels / groups * window.kernel_h * window.kernel_w; }
};

// Returns the scratch memory that convolve() needs, in bytes, or 0 if it does not compute this convolution.
size_t convolution_bytes(const Int8Convolution& convolution);
// Computes all images. `scratch` is aligned to 16 bytes.
void convolve(const Int8Convolution& convolution, const uint8_t* in, const int8_t* weights, uint8_t* out,
              uint8_t* scratch);

// Returns the scratch memory that multiply() needs, in bytes.
size_t product_bytes(int32_t depth);
// Multiplies rows [rows, depth] by weights [columns, depth], both row by row, and requantizes to [rows, columns]. The
// loops set the corrections of `channels` [columns].
void multiply(const uint8_t* in, uint8_t flip, int32_t zero, const int8_t* weights, Int8Channel* channels, int32_t rows,
              int32_t depth, int32_t columns, const Int8Output& output, uint8_t* out, uint8_t* scratch);

// Returns the sum of n numbers, `stride` bytes apart.
int32_t sum(const uint8_t* from, int32_t stride, int32_t n, uint8_t flip);

// Means of windows; `divisor` is the number of taps where padding counts.
struct Int8Means {
  ImageShape in, out;
  ImageWindow window;
  bool counts_padding = false;
  uint8_t flip = 0;
  int32_t zero = 0;
  float factor = 1;  // the input's scale
  Int8Output output;
};
void average_pool(const Int8Means& means, const uint8_t* in, uint8_t* out);

// Maxima of windows, the first of equal ones, and their places in the plane of their channel.
struct Int8Maxima {
  ImageShape in, out, indices;  // `indices` has out's sizes
  ImageWindow window;
  uint8_t flip = 0;
};
void max_pool(const Int8Maxima& maxima, const uint8_t* in, uint8_t* out, int64_t* indices);

// Numbers whose real values are (number - zero) * scale. A step of 0 repeats the first one, otherwise it is 1.
struct Int8Operand {
  const uint8_t* data = nullptr;
  int32_t step = 1;
  uint8_t flip = 0;
  int32_t zero = 0;
  float scale = 1;
};
void add(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out);
void multiply_elements(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out);

// out[i] = table[in[i] ^ flip].
void look_up(const uint8_t* in, uint8_t flip, const uint8_t* table, int32_t n, uint8_t* out);

// Computes softmax of a row of n < 2^16 numbers. Bytes XOR `flip` are here in the order of the numbers, without a sign;
// exponentials[d] [256] stands for the number that is d less than the largest one. The results are these exponentials
// times 1 / sum, as float32, or 0 where the sum is 0.
void softmax(const uint8_t* in, uint8_t flip, const int32_t* exponentials, int32_t n, const Int8Output& output,
             uint8_t* out);

// Quantizes; NaN becomes 0.
void quantize(const float* in, int32_t n, const Int8Output& output, uint8_t* out);
void dequantize(const Int8Operand& in, int32_t n, float* out);

}  // namespace rushlight::microkernels::cortex_m
