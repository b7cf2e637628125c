// Loops over int8 and uint8 tensors for microcontrollers. They read weights and images in place, in any layout, and
// need little scratch memory. Macros of the compiler select the instructions: Helium (MVE with floats) or the DSP
// extension of Armv7E-M. Builds for other processors do not contain these loops.
//
// The results are equal to those of the portable kernels bit for bit: sums of integers are exact, and the float32
// operations and their order are the same. A byte XOR `sign_mask` is an int8 number; sign_mask is 0 for int8 and 0x80
// for uint8. The zero points of uint8 tensors are reduced by 128 here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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

// How a real number is quantized: clamp(round(real * inverse), least, most) + zero, with ties to even. The real number
// must not be NaN.
struct Int8Output {
  float inverse;
  int32_t zero, least, most;  // `least` and `most` are the bounds of the results minus `zero`
};

// Returns whether a factor is 0 or has a magnitude between 2^-100 and 2^100. With such factors no result depends on
// infinities, or on numbers so small that Helium treats them as 0.
// The constants are the bits of 2^-100 and 2^100 in float32, without the sign.
inline constexpr uint32_t kLeastUsual = (127u - 100) << 24, kMostUsual = (127u + 100) << 24;
inline bool is_usual(float factor) {
  uint32_t bits;
  std::memcpy(&bits, &factor, sizeof(bits));
  const uint32_t magnitude = bits << 1;  // without the sign
  return magnitude == 0 || magnitude - kLeastUsual <= kMostUsual - kLeastUsual;
}

// The scales and the bias of the outputs of a convolution or a linear layer: real = sum * factor + bias.
struct Int8Scales {
  float in_scale;
  const float* scales;
  int64_t scale_step;  // 0 if all outputs share a scale, else 1
  const float* bias;   // or null
  float factor(int64_t output) const { return scales[output * scale_step] * in_scale; }
};

// The scratch memory of a call. `allocate` returns bytes aligned to 16, or null if there is no memory.
struct ScratchMemory {
  void* (*allocate)(void* context, size_t bytes);
  void* context;
};

// Sizes and strides, in elements, of an image [batch, channels, height, width].
struct ImageShape {
  int32_t batch, channels, height, width;
  int32_t batch_stride, channel_stride, row_stride, column_stride;
};

// A window over height and width. Its first position begins `pad` rows and columns before the image.
struct ImageWindow {
  int32_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// A convolution. The weights are contiguous, and the output channel is the outermost dimension.
struct Int8Convolution {
  ImageShape in, out;
  ImageWindow window;
  int32_t groups;
  int32_t weight_channel_stride, weight_row_stride, weight_column_stride;
  uint8_t sign_mask;
  int32_t zero;  // zero point of the input, in the range of int8
  Int8Scales scales;
  Int8Output output;

  int32_t depth() const { return in.channels / groups * window.kernel_h * window.kernel_w; }
};

// Computes all images. Returns false, and computes nothing, if this convolution is not supported, if a factor or the
// bias could give other results than the portable kernel (see set_channels()), or if there is no memory.
bool convolve(const Int8Convolution& convolution, const uint8_t* in, const int8_t* weights, uint8_t* out,
              const ScratchMemory& memory);

// A linear layer. It multiplies rows [rows, depth] by weights [columns, depth], both in row-major order, and
// requantizes the results [rows, columns].
struct Int8Linear {
  int32_t rows, depth, columns;
  uint8_t sign_mask;
  int32_t zero;  // zero point of the input, in the range of int8
  Int8Scales scales;
  Int8Output output;
};
// Computes all rows. Returns false, and computes nothing, if a factor or the bias could give other results than the
// portable kernel, or if there is no memory.
bool multiply(const Int8Linear& linear, const uint8_t* in, const int8_t* weights, uint8_t* out,
              const ScratchMemory& memory);

// Returns the sum of n numbers, `stride` bytes apart.
int32_t sum(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask);

// Means of windows.
struct Int8Means {
  ImageShape in, out;
  ImageWindow window;
  bool counts_padding;
  uint8_t sign_mask;
  int32_t zero;
  float factor;  // scale of the input
  Int8Output output;
};
void average_pool(const Int8Means& means, const uint8_t* in, uint8_t* out);

// Maxima of windows, and their indices in the plane of their channel. If several elements are equal, the first one
// counts.
struct Int8Maxima {
  ImageShape in, out, indices;  // `indices` has the sizes of `out`
  ImageWindow window;
  uint8_t sign_mask;
};
void max_pool(const Int8Maxima& maxima, const uint8_t* in, uint8_t* out, int64_t* indices);

// A quantized operand: real = (number - zero) * scale. `step` is 1, or 0 if all elements are the first number.
struct Int8Operand {
  const uint8_t* data = nullptr;
  int32_t step = 1;
  uint8_t sign_mask = 0;
  int32_t zero = 0;
  float scale = 1;
};
void add(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out);
void multiply_elements(const Int8Operand& a, const Int8Operand& b, int32_t n, const Int8Output& output, uint8_t* out);

// out[i] = table[in[i] ^ sign_mask].
void look_up(const uint8_t* in, uint8_t sign_mask, const uint8_t* table, int32_t n, uint8_t* out);

// Computes softmax of a row of n < 2^16 numbers. Here, bytes XOR `sign_mask` are unsigned and have the order of the
// numbers. exponentials[d], d < 256, is the exponential for a number that is d less than the largest number. The
// results are these exponentials times 1 / sum in float32, or 0 if the sum is 0.
void softmax(const uint8_t* in, uint8_t sign_mask, const int32_t* exponentials, int32_t n, const Int8Output& output,
             uint8_t* out);

// Quantizes n floats. NaN becomes 0.
void quantize(const float* in, int32_t n, const Int8Output& output, uint8_t* out);
void dequantize(const Int8Operand& in, int32_t n, float* out);

}  // namespace rushlight::microkernels::cortex_m
