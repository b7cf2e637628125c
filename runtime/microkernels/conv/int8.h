// Convolutions of channels-last bytes, as products of gathered pixels or channel by channel.
#pragma once

#include <cstdint>

#include "core/window.h"
#include "microkernels/gemm/int8.h"

namespace rushlight::microkernels {

// A convolution's window over [batch, size..., channels] bytes; axes are depth, height and width.
struct Int8Window : Window3d {
  const uint8_t* in;
  uint8_t sign_mask;  // numbers XOR sign_mask are int8
  int8_t zero;        // what padding holds, as int8
  int64_t channels;
  int64_t size[3], out_size[3];
  bool transposed;

  int64_t out_pixels() const { return out_size[0] * out_size[1] * out_size[2]; }  // of one of the batch
  // Whether each output pixel is computed from the input pixel in its place alone.
  bool is_pointwise() const;
};

// The context of gather_pixels(), which is an Int8Product::gather: it reads inputs [first, first + inputs) of the
// channels. Row i is for output pixel i of the whole batch; its numbers are [taps, inputs].
struct Int8Gather {
  const Int8Microkernels* kernels;
  const Int8Window* window;
  int64_t first, inputs;
};
void gather_pixels(const void* gather, int64_t pixel, void* to);

// The context of gather_from_lines(), which gathers the same from lines of the input that are converted, with their
// padding, once for each line of the output. Rows are gathered in order. has_lines() says for which windows it works.
struct Int8Lines {
  const Int8Microkernels* kernels;
  const Int8Window* window;
  int64_t first, inputs;
  void* lines;  // of lines_size() bytes
  int64_t pixel = -1, line = -1;
};
bool has_lines(const Int8Window& window);
size_t lines_size(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs);
void gather_from_lines(const void* lines, int64_t pixel, void* to);
// For Int8Product::gather_rows.
void gather_rows_from_lines(const void* lines, int64_t pixel, int64_t pixels, int64_t stride, void* to);

// Whether a product can read the input pixels where they lie: the window has one tap, and the input has the LHS's form.
// This holds for a batch of one and int8 results, with so many outputs.
bool has_pixels(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
Int8Windows windows_of_pixels(const Int8Gather& gather);  // for Int8Product::windows

// Whether a product can read windows from a padded copy of the image in the LHS's form, so that nothing is gathered.
// This holds for some microkernels and windows, a batch of one, int8 results, and images that fit a second level
// cache.
bool has_windows(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
size_t windows_size(const Int8Window& window, int64_t inputs);
// Copies what output pixels [begin, end) need to `image`, which has windows_size() bytes, for Int8Product::windows.
Int8Windows read_windows(const Int8Gather& gather, int64_t begin, int64_t end, uint8_t* image);

// Sets the LHS of `product`: the pixels of a window, gathered or read where they lie.
void set_lhs(Int8Product* product, const Int8Gather& gather);

// Prepares the LHS in the form that is fastest. It must outlive the multiplication of the product.
struct Int8LhsPacker {
  Int8Gather gather;
  Int8Lines lines;
  Int8Windows windows;

  // Returns the bytes of scratch memory. `in_place` says that the batch is one and the results are int8.
  static size_t scratch_bytes(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs,
                              int64_t outputs, bool in_place);
  // Sets the LHS of `product` for rows [begin, end) and inputs [first, first + inputs) of the channels.
  void set(Int8Product* product, const Int8Microkernels& kernels, const Int8Window& window, int64_t first,
           int64_t inputs, bool in_place, int64_t begin, int64_t end, uint8_t* scratch);
};

// A depthwise convolution: each channel has a filter of its own. `out` has `channels` bytes for each pixel.
struct Int8Depthwise {
  const Int8Window* window;
  const int16_t* weights;  // of pack_filters()
  Requantize requantize;   // with corrections for the zero point
  uint8_t* out;
};
// Returns the int16 numbers of packed filters. pack_filters() reads tap t of channel c from
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
