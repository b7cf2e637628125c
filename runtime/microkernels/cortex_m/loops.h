// The inner loops. int8_mve.cpp and int8_dsp.cpp define them for their instructions. They are compiled for speed, and
// the functions that call them for size.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "microkernels/cortex_m/int8.h"
#include "microkernels/simd/inline.h"

#if defined(RL_CORTEX_M_INT8)

namespace rushlight::microkernels::cortex_m {

#if defined(RL_CORTEX_M_MVE)
// The numbers of a patch contain the zero point. The correction of a channel removes its products with the weights from
// the sums.
using Patch = int8_t;
using Plane = int8_t;
using TapWeight = int32_t;
inline constexpr int32_t kPixels = 4, kDepthStep = 16, kTapPixels = 8;
#else
// The zero point is subtracted from the numbers of a patch and of a plane.
using Patch = int16_t;
using Plane = int16_t;
using TapWeight = uint32_t;  // the weights of two adjacent taps
inline constexpr int32_t kPixels = 2, kDepthStep = 4, kTapPixels = 4;
#endif

// Returns the number of elements of a patch, including its padding.
inline int32_t padded_depth(int32_t depth) { return (depth + kDepthStep - 1) / kDepthStep * kDepthStep; }

// Returns the position in a patch of the element that is multiplied by element i of a row of weights.
inline int32_t position_in_patch(int32_t i, int32_t depth) {
#if defined(RL_CORTEX_M_DSP)
  // Words of four bytes are split into the even and the odd bytes.
  const int32_t inner = i & 3;
  if (i < (depth & ~3) && (inner == 1 || inner == 2)) return i ^ 3;
#else
  static_cast<void>(depth);
#endif
  return i;
}

constexpr size_t padded(int64_t bytes) { return static_cast<size_t>((bytes + 15) & ~int64_t{15}); }

// For an output channel: real = sum * factor + offset.
struct Int8Channel {
  float factor, offset;
  int32_t correction;  // removes the zero point of the input from sums; set by set_corrections()
};
inline size_t channel_bytes(int32_t count) { return padded(count * static_cast<int64_t>(sizeof(Int8Channel))); }
// Sets the factors and the offsets of `count` channels. Returns false if the loops could give other results than the
// portable kernels: with Helium if is_usual() is false for one of them, else if one of them is not finite.
bool set_channels(const Int8Scales& scales, Int8Channel* channels, int32_t count);

// Sets the corrections of `count` channels for products() and depthwise().
void set_corrections(const int8_t* weights, int32_t depth, int32_t zero, Int8Channel* channels, int32_t count);
// Makes a patch of the numbers at `offsets`. The number of offsets is rounded up to a multiple of 8; the additional
// offsets are 0.
void gather(const int8_t* from, const uint16_t* offsets, int32_t depth, int32_t zero, Patch* patch);
// Makes a patch of contiguous bytes.
void expand(const uint8_t* from, uint8_t sign_mask, int32_t depth, int32_t zero, Patch* patch);
// Computes the results of kPixels patches, which are `step` elements apart, for `count` channels. The result of pixel i
// and channel j is out[i * pixel_stride + j * channel_stride].
void products(const Patch* patches, int32_t step, const int8_t* weights, int32_t depth, const Int8Channel* channels,
              int32_t count, const Int8Output& output, uint8_t* out, int32_t pixel_stride, int32_t channel_stride);
// As products(), for one patch, without the corrections of the channels.
void products_of_one(const Patch* patch, const int8_t* weights, int32_t depth, int32_t zero,
                     const Int8Channel* channels, int32_t count, const Int8Output& output, uint8_t* out,
                     int32_t channel_stride);

// Copies n bytes, `stride` apart, as int8 numbers.
void copy_bytes(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask, int8_t* to);
void fill_bytes(int8_t* to, int32_t n, int32_t zero);
// As above, for the planes of depthwise convolutions.
void copy_plane(const uint8_t* from, int32_t stride, int32_t n, uint8_t sign_mask, int32_t zero, Plane* to);
void fill_plane(Plane* to, int32_t n, int32_t zero);

// Returns the number of taps that depthwise() processes at a time: 2 for adjacent taps of 16 bits, else 1.
inline int32_t tap_step(const ImageWindow& window) {
#if defined(RL_CORTEX_M_DSP)
  return window.dilation_w == 1 ? 2 : 1;
#else
  static_cast<void>(window);
  return 1;
#endif
}
inline int32_t tap_count(const ImageWindow& window) {
  const int32_t step = tap_step(window);
  return window.kernel_h * ((window.kernel_w + step - 1) / step);
}
// Computes `pixels` results. Their windows begin at `places` in the plane. The number of places is rounded up to a
// multiple of kTapPixels. The taps of a window are at `offsets` from its place.
void depthwise(const Plane* plane, const uint16_t* places, int32_t pixels, const uint16_t* offsets,
               const TapWeight* weights, int32_t taps, const Int8Channel& channel, const Int8Output& output,
               uint8_t* out, int32_t pixel_stride);

// Returns the sum of n unsigned bytes, after an XOR of each byte with a byte of `sign_masks`, which has the same value
// in all four bytes.
uint32_t sum_of_bytes(const uint8_t* from, int32_t n, uint32_t sign_masks);

// A row of windows. All taps are inside of the image. Strides are distances in memory; steps are distances in the
// plane, for indices. Both are in elements.
struct WindowRow {
  int32_t kernel_h, kernel_w;
  int32_t stride, step;                                // from a window to the next
  int32_t row_stride, row_step, tap_stride, tap_step;  // from a row of taps to the next, and from a tap to the next
  int32_t out_stride, index_stride;
  uint8_t bias;  // bytes XOR `bias` are unsigned and have the order of the numbers
};
// Finds the maxima of n windows. The first window begins at index `place` of the plane. The maximum of a window without
// taps is the smallest number.
void row_maxima(const WindowRow& row, const uint8_t* from, int32_t place, int32_t n, uint8_t* out, int64_t* indices);

// Computes the means of n windows.
void row_means(const WindowRow& row, const Int8Means& means, const uint8_t* from, int32_t n, uint8_t* out);

// Rounds to the nearest integer, ties to even. Values outside of the range of int32 become the nearest int32, and NaN
// becomes 0.
RL_INLINE int32_t round_to_int32(float x) {
#if defined(__arm__)
  float converted;
  asm("vcvtr.s32.f32 %0, %1" : "=t"(converted) : "t"(x));
  int32_t result;
  std::memcpy(&result, &converted, sizeof(result));
  return result;
#else
  if (x != x) return 0;
  return x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : static_cast<int32_t>(std::nearbyint(x));
#endif
}

// Quantizes a number. The result is the lowest byte of the returned number.
RL_INLINE int32_t requantized_number(float real, const Int8Output& output) {
  const int32_t whole = round_to_int32(real * output.inverse);
  const int32_t below = whole < output.most ? whole : output.most;
  int32_t number = below > output.least ? below : output.least;
#if defined(__arm__)
  asm("" : "+r"(number));  // stops the compiler from narrowing the number to a byte before the addition
#endif
  return number + output.zero;
}

RL_INLINE uint8_t requantized(float real, const Int8Output& output) {
  return static_cast<uint8_t>(requantized_number(real, output));
}

RL_INLINE float real_number(uint8_t byte, const Int8Operand& operand) {
  return static_cast<float>(static_cast<int8_t>(byte ^ operand.sign_mask) - operand.zero) * operand.scale;
}

}  // namespace rushlight::microkernels::cortex_m

#endif  // RL_CORTEX_M_INT8
