// Convolutions with few channels: the windows of the image are gathered into rows of the LHS.
#include <algorithm>
#include <cstring>

#include "core/rounding.h"
#include "microkernels/conv/f32.h"

namespace rushlight::microkernels {

namespace {

constexpr int64_t kPart = 4;                       // the floats that copy_parts() copies at a time
constexpr int64_t kMostFloats = int64_t{1} << 40;  // in the padded lines of a block

// Copies `count` pieces of `floats` floats, which are `step` floats apart, to contiguous memory. A piece has up to
// Parts * kPart floats; Parts is 0 if their number is only known at run time. Reads and writes up to kPart - 1 floats
// after the last piece.
template <int Parts>
void copy_pieces(const float* from, int64_t step, int64_t count, int64_t floats, float* to) {
  for (; count > 0; --count, from += step, to += floats) {
    if constexpr (Parts > 0) {
      for (int i = 0; i < Parts; ++i) std::memcpy(to + i * kPart, from + i * kPart, kPart * sizeof(float));
    } else {
      for (int64_t i = 0; i < floats; i += kPart) std::memcpy(to + i, from + i, kPart * sizeof(float));
    }
  }
}

using CopyPieces = void (*)(const float*, int64_t, int64_t, int64_t, float*);
CopyPieces copy_pieces_of(int64_t floats) {
  static constexpr CopyPieces by_parts[] = {&copy_pieces<0>, &copy_pieces<1>, &copy_pieces<2>,
                                            &copy_pieces<3>, &copy_pieces<4>, &copy_pieces<6>};
  const int64_t parts = divide_up(floats, kPart);
  return by_parts[parts < 5 ? parts : parts == 6 ? 5 : 0];
}

}  // namespace

int64_t PackedConvolution::window_columns() const {
  return (out_.sizes[2] - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
}

int64_t PackedConvolution::window_lines(int64_t out_lines) const {
  return (out_lines - 1) * window.stride_h + (window.kernel_h - 1) * window.dilation_h + 1;
}

// Returns the most input lines that a block of rows reads. The rows may begin in the middle of a line.
int64_t PackedConvolution::most_window_lines() const {
  return window_lines(std::min(out_.sizes[1], divide_up(block_ - 1, out_.sizes[2]) + 1));
}

Error PackedConvolution::check_windows() const {
  if (!gathers_ || has_lines_ || rows_ == 0) return Error::Ok;
  RL_REQUIRE(window_columns() <= kMostFloats / std::max<int64_t>(1, most_window_lines() * channels), InvalidProgram,
             "the windows of a convolution cover too many pixels");
  return Error::Ok;
}

int64_t PackedConvolution::gathered_floats() const { return round_up(block_ * depth() + kPart, 16); }

int64_t PackedConvolution::window_floats() const {
  if (rows_ == 0) return 0;
  return gathered_floats() + round_up(most_window_lines() * window_columns() * channels + kPart, 16);
}

// Copies `count` lines of an image, from line `first` on, to [count, columns, channels], and fills the padding with
// zeros.
void PackedConvolution::fill_window_lines(const float* image, int64_t first, int64_t count, float* to) const {
  const Image& in = in_.images[0];
  const int64_t columns = window_columns(), length = columns * channels;
  const int64_t before = std::min(window.pad_w, columns), inside = std::min(in.sizes[2], columns - before);
  const bool is_dense = (channels == 1 || in.strides[3] == 1) && in.strides[2] == channels;
  for (int64_t y = first; y < first + count; ++y, to += length) {
    if (y < 0 || y >= in.sizes[1]) {
      std::fill_n(to, length, 0.0f);
      continue;
    }
    const float* const from = image + y * in.strides[1];
    float* const pixels = std::fill_n(to, before * channels, 0.0f);
    if (is_dense) {
      std::memcpy(pixels, from, static_cast<size_t>(inside * channels) * sizeof(float));
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t x = 0; x < inside; ++x) pixels[x * channels + c] = from[x * in.strides[2] + c * in.strides[3]];
      }
    }
    std::fill(pixels + inside * channels, to + length, 0.0f);
  }
}

// Gathers the windows [kernel_h, kernel_w, channels] of rows [m, m + count) of the output into rows of the LHS.
void PackedConvolution::gather(int64_t m, int64_t count, float* to) const {
  const int64_t height = out_.sizes[1], width = out_.sizes[2], length = window_columns() * channels;
  float* const lines = to + gathered_floats();
  // A window consists of contiguous lines, or of one piece for each tap.
  const bool is_dense = window.dilation_w == 1;
  const int64_t piece = is_dense ? window.kernel_w * channels : channels;
  const int64_t piece_step = is_dense ? window.dilation_h * length : window.dilation_w * channels;
  const int64_t pieces = is_dense ? window.kernel_h : window.kernel_w, parts = is_dense ? 1 : window.kernel_h;
  const CopyPieces copy = copy_pieces_of(piece);
  for (int64_t end = m + count; m < end;) {
    const int64_t image = m / (height * width), last = std::min(end, (image + 1) * height * width);
    const int64_t first_line = m / width, out_lines = (last - 1) / width - first_line + 1;
    fill_window_lines(in_.images[0].data + image * in_.images[0].strides[0],
                      (first_line - image * height) * window.stride_h - window.pad_h, window_lines(out_lines), lines);
    for (int64_t line = first_line; m < last; ++line) {
      const float* const corner = lines + (line - first_line) * window.stride_h * length;
      for (int64_t x = m - line * width; x < width && m < last; ++x, ++m) {
        const float* from = corner + x * window.stride_w * channels;
        for (int64_t i = 0; i < parts; ++i, from += window.dilation_h * length, to += pieces * piece) {
          copy(from, piece_step, pieces, piece, to);
        }
      }
    }
  }
}

}  // namespace rushlight::microkernels
