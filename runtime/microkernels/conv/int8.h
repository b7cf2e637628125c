// Convolutions of channels-last int8 images: GEMMs over gathered pixels, and depthwise convolutions.
#pragma once

#include <cstdint>

#include "core/window.h"
#include "microkernels/gemm/int8.h"

namespace rushlight::microkernels {

// The window of a convolution over images [batch, size..., channels]. The axes are depth, height and width.
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

// The context of gather_pixels(), a function for Int8Gemm::gather. It reads input channels [first, first + inputs). Row
// i contains the numbers [taps, inputs] for output pixel i of the whole batch.
struct Int8Gather {
  const Int8Microkernels* kernels;
  const Int8Window* window;
  int64_t first, inputs;
};
void gather_pixels(const void* gather, int64_t pixel, void* to);

// The context of gather_from_lines(), which gathers the same rows faster: it converts and pads the input lines once for
// each line of the output. Rows must be gathered in ascending order. has_lines() returns whether a window supports
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

// Returns whether a GEMM with this many outputs can read the input pixels in place. The window must have one tap, and
// the input must have the format of a packed LHS. The batch size must be 1 and the results int8.
bool has_pixels(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
Int8Windows windows_of_pixels(const Int8Gather& gather);  // for Int8Gemm::windows

// Returns whether a GEMM can read windows without gathering, from a padded copy of the image in the format of a packed
// LHS. Only some microkernels and windows support this, with a batch size of 1, int8 results, and images that fit into
// the L2 cache.
bool has_windows(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
size_t windows_size(const Int8Window& window, int64_t inputs);
// Copies the input of output pixels [begin, end) to `image`, which has windows_size() bytes. Returns the windows for
// Int8Gemm::windows.
Int8Windows read_windows(const Int8Gather& gather, int64_t begin, int64_t end, uint8_t* image);

// Writes input lines [first, first + count) in the format of a packed LHS, with the padding of the window to the left
// and to the right: [count, padded_columns(), inputs]. Lines outside of the image are padding. The batch size is 1.
int64_t padded_columns(const Int8Window& window);
void pad_lines(const Int8Gather& gather, int64_t first, int64_t count, uint8_t* to);

// Sets the LHS of `gemm`: the pixels of windows, gathered or read in place.
void set_lhs(Int8Gemm* gemm, const Int8Gather& gather);

// Prepares the LHS in the fastest way. The object must exist until the GEMM has run.
struct Int8LhsPacker {
  Int8Gather gather;
  Int8Lines lines;
  Int8Windows windows;

  // Returns the bytes of scratch memory. `in_place`: whether the batch size is 1 and the results are int8.
  static size_t scratch_bytes(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs,
                              int64_t outputs, bool in_place);
  // Sets the LHS of `gemm` for rows [begin, end) and input channels [first, first + inputs).
  void set(Int8Gemm* gemm, const Int8Microkernels& kernels, const Int8Window& window, int64_t first, int64_t inputs,
           bool in_place, int64_t begin, int64_t end, uint8_t* scratch);
};

// A depthwise convolution, with one filter for each channel. `out` has `channels` bytes for each pixel.
struct Int8Depthwise {
  const Int8Window* window;
  const int16_t* weights;  // written by pack_filters()
  Requantize requantize;   // its corrections remove the zero point of the input
  uint8_t* out;
};
// Returns the number of int16 values of packed filters. pack_filters() reads tap t of channel c at
// from[c * channel_stride + t * tap_stride].
inline int64_t packed_filters_size(int64_t channels, int64_t taps) { return (taps + 1) / 2 * channels * 2; }
void pack_filters(const int8_t* from, int64_t channel_stride, int64_t tap_stride, int64_t channels, int64_t taps,
                  int16_t* to);
// Writes corrections [channels] that remove the zero point of the input: -zero * (sum of the weights of a channel),
// plus the bias if it is not null.
void filter_corrections(const int16_t* packed, int64_t channels, int64_t taps, int32_t zero, const int32_t* bias,
                        int32_t* to);
size_t depthwise_scratch(const Int8Window& window);
// Computes output pixels [begin, end) of the whole batch. `scratch` has depthwise_scratch() bytes, aligned to 64 bytes.
void convolve_depthwise(const Int8Microkernels& kernels, const Int8Depthwise& depthwise, int64_t begin, int64_t end,
                        void* scratch);

}  // namespace rushlight::microkernels
