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
  // Every output pixel is of the input pixel in its place alone.
  bool is_pointwise() const;
};

// Inputs [first, first + inputs) of the channels, for Int8Product::gather: `gather_pixels` with this as the context.
// Row i is output pixel i of the whole batch; numbers are in the order taps, inputs.
struct Int8Gather {
  const Int8Microkernels* kernels;
  const Int8Window* window;
  int64_t first, inputs;
};
void gather_pixels(const void* gather, int64_t pixel, void* to);

// The same from lines of the input that are widened, with their padding, once for a line of the output: rows are to be
// gathered in order. Of planes alone, not transposed.
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

// Whether output pixels are input pixels, some left out, in the LHS's form, which are read where they lie; for
// so many outputs of a batch of one, which are Bytes.
bool has_pixels(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
Int8Windows windows_of_pixels(const Int8Gather& gather);  // for Int8Product::windows

// Lines of an image in the LHS's form, with their padding, over which windows lie: nothing is gathered. Where
// tiles and the window have that, for so many outputs of a batch of one, which are Bytes, and the image is not too
// large for a second level cache.
bool has_windows(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs, int64_t outputs);
size_t windows_size(const Int8Window& window, int64_t inputs);
// Of output pixels [begin, end), for Int8Product::windows; `image` is of windows_size() bytes.
Int8Windows read_windows(const Int8Gather& gather, int64_t begin, int64_t end, uint8_t* image);

// The LHS of `product`: pixels of a window, gathered or as they lie.
void set_lhs(Int8Product* product, const Int8Gather& gather);

// The LHS in the form that is fastest. A product refers to it while it is multiplied.
struct Int8LhsPacker {
  Int8Gather gather;
  Int8Lines lines;
  Int8Windows windows;

  // Scratch memory; `in_place`: of a batch of one, whose results are Bytes.
  static size_t scratch_bytes(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs,
                              int64_t outputs, bool in_place);
  // For rows [begin, end) and inputs [first, first + inputs) of the channels.
  void set(Int8Product* product, const Int8Microkernels& kernels, const Int8Window& window, int64_t first,
           int64_t inputs, bool in_place, int64_t begin, int64_t end, uint8_t* scratch);
};

// Each channel with a filter of its own, to `channels` bytes a pixel.
struct Int8Depthwise {
  const Int8Window* window;
  const int16_t* weights;  // of pack_filters()
  Requantize requantize;   // with corrections for the zero point
  uint8_t* out;
};
// Numbers of packed filters; tap t of channel c is from[c * channel_stride + t * tap_stride].
inline int64_t packed_filters_size(int64_t channels, int64_t taps) { return (taps + 1) / 2 * channels * 2; }
void pack_filters(const int8_t* from, int64_t channel_stride, int64_t tap_stride, int64_t channels, int64_t taps,
                  int16_t* to);
// -zero * the sum of a channel's weights, plus bias where it is not null.
void filter_corrections(const int16_t* packed, int64_t channels, int64_t taps, int32_t zero, const int32_t* bias,
                        int32_t* to);
size_t depthwise_scratch(const Int8Window& window);
// Output pixels [begin, end) of the whole batch; scratch as product_scratch()'s.
void convolve_depthwise(const Int8Microkernels& kernels, const Int8Depthwise& depthwise, int64_t begin, int64_t end,
                        void* scratch);

}  // namespace rushlight::microkernels
