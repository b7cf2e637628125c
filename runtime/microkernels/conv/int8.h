// Convolutions of channels-last int8 images, as GEMMs over gathered pixels or channel by channel.
#pragma once

#include <cstdint>

#include "core/window.h"
#include "microkernels/gemm/int8.h"

namespace rushlight::microkernels {

// The window of a convolution over images [batch, size..., channels]; axes are depth, height and width.
struct Int8Window : Window3d {
  const uint8_t* in;
  uint8_t sign_mask;  // in[i] ^ sign_mask is int8
  int8_t zero;        // the int8 value of padding
  int64_t channels;
  int64_t size[3], out_size[3];
  bool transposed;

  int64_t out_pixels() const { return out_size[0] * out_size[1] * out_size[2]; }  // of one image
  // Returns whether each output pixel depends only on the input pixel at the same position.
  bool is_pointwise() const;
};

// The context of gather_pixels(), a function for Int8Gemm::gather. It reads input channels [first, first + inputs).
// Row i belongs to output pixel i of the whole batch; its numbers are [taps, inputs].
struct Int8Gather {
  const Int8Microkernels* kernels;
  const Int8Window* window;
  int64_t first, inputs;
};
void gather_pixels(const void* gather, int64_t pixel, void* to);

// The context of gather_from_lines(), which gathers the same rows in another way. For each line of the output it
// converts and pads the input lines once. Rows must be gathered in order. has_lines() returns whether a window allows
// this.
struct Int8Lines {
  const Int8Microkernels* kernels;
  const Int8Window* window;
  int64_t first, inputs;
  void* lines;  // lines_size() bytes
  int64_t pixel = -1, line = -1;
};
bool has_lines(const Int8Window& window);
size_t lines_size(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs);
void gather_from_lines(const void* lines, int64_t pixel, void* to);
// A function for Int8Gemm::gather_rows.
void gather_rows_from_lines(const void* lines, int64_t pixel, int64_t pixels, int64_t stride, void* to);

// Returns whether a GEMM with this many outputs can read the input pixels in place: the window has one tap, and the
// input has the format of a packed LHS. The batch must be one and the results int8.
bool has_pixels(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
Int8Windows windows_of_pixels(const Int8Gather& gather);  // for Int8Gemm::windows

// Returns whether a GEMM can read windows from a padded copy of the image that has the format of a packed LHS, without
// gathering. This holds for some microkernels and windows, a batch of one, int8 results, and images that fit into the
// L2 cache.
bool has_windows(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
size_t windows_size(const Int8Window& window, int64_t inputs);
// Copies the input of output pixels [begin, end) to `image`, which has windows_size() bytes, for Int8Gemm::windows.
Int8Windows read_windows(const Int8Gather& gather, int64_t begin, int64_t end, uint8_t* image);

// Sets the LHS of `product`: the pixels of a window, gathered or read in place.
void set_lhs(Int8Gemm* gemm, const Int8Gather& gather);

// Prepares the LHS in the fastest way. The object must live until the GEMM has run.
struct Int8LhsPacker {
  Int8Gather gather;
  Int8Lines lines;
  Int8Windows windows;

  // Returns the bytes of scratch memory. `in_place` is true if the batch is one and the results are int8.
  static size_t scratch_bytes(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs,
                              int64_t outputs, bool in_place);
  // Sets the LHS of `product` for rows [begin, end) and input channels [first, first + inputs).
  void set(Int8Gemm* gemm, const Int8Microkernels& kernels, const Int8Window& window, int64_t first, int64_t inputs,
           bool in_place, int64_t begin, int64_t end, uint8_t* scratch);
};

// A depthwise convolution: one filter for each channel. `out` has `channels` bytes for each pixel.
struct Int8Depthwise {
  const Int8Window* window;
  const int16_t* weights;  // written by pack_filters()
  Requantize requantize;   // its corrections include the zero point of the input
  uint8_t* out;
};
// Returns the number of int16 values of packed filters. pack_filters() reads tap t of channel c at
// from[c * channel_stride + t * tap_stride].
inline int64_t packed_filters_size(int64_t channels, int64_t taps) { return (taps + 1) / 2 * channels * 2; }
void pack_filters(const int8_t* from, int64_t channel_stride, int64_t tap_stride, int64_t channels, int64_t taps,
                  int16_t* to);
// Writes corrections [channels]: -zero * the sum of a channel's weights, plus the bias if it is not null.
void filter_corrections(const int16_t* packed, int64_t channels, int64_t taps, int32_t zero, const int32_t* bias,
                        int32_t* to);
size_t depthwise_scratch(const Int8Window& window);
// Computes output pixels [begin, end) of the whole batch. `scratch` has depthwise_scratch() bytes, aligned to 64 bytes.
void convolve_depthwise(const Int8Microkernels& kernels, const Int8Depthwise& depthwise, int64_t begin, int64_t end,
                        void* scratch);

}  // namespace rushlight::microkernels
