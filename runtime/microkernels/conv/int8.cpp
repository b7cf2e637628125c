#include "microkernels/conv/int8.h"

#include <algorithm>
#include <cstring>

#include "core/rounding.h"

namespace rushlight::microkernels {

namespace {

// The number of output pixels whose sums are stored before they are requantized.
constexpr int64_t kPixels = 8;

// Returns the input position that a tap reads for an output position along an axis, or -1 for padding.
int64_t source_of(const Int8Window& w, int axis, int64_t position, int64_t tap) {
  int64_t source = position * w.stride[axis] - w.padding[axis] + tap * w.dilation[axis];
  if (w.transposed) {
    source = position + w.padding[axis] - tap * w.dilation[axis];
    if (source < 0 || source % w.stride[axis] != 0) return -1;
    source /= w.stride[axis];
  }
  return source >= 0 && source < w.size[axis] ? source : -1;
}

struct Pixel {
  int64_t batch, at[3];
};

Pixel pixel_of(const Int8Window& w, int64_t index) {
  Pixel p{index / w.out_pixels(), {}};
  index %= w.out_pixels();
  for (int axis = 2; axis >= 0; --axis) {
    p.at[axis] = index % w.out_size[axis];
    index /= w.out_size[axis];
  }
  return p;
}

// Returns a pointer to the pixels of one line of the input, or null if the line is padding.
const uint8_t* line_of(const Int8Window& w, const Pixel& p, int64_t z, int64_t y) {
  const int64_t source_z = source_of(w, 0, p.at[0], z), source_y = source_of(w, 1, p.at[1], y);
  if (source_z < 0 || source_y < 0) return nullptr;
  return w.in + ((p.batch * w.size[0] + source_z) * w.size[1] + source_y) * w.size[2] * w.channels;
}

void step(const Int8Window& w, Pixel* p) {
  for (int axis = 2; axis >= 0; --axis) {
    if (++p->at[axis] < w.out_size[axis]) return;
    p->at[axis] = 0;
  }
  ++p->batch;
}

// Writes a pointer to the pixel of each tap of a window. Taps outside of the image get the pointer `padding`.
void set_taps(const Int8Window& w, const Pixel& p, const uint8_t* padding, const uint8_t** to) {
  const int64_t width = w.kernel[2];
  for (int64_t z = 0; z < w.kernel[0]; ++z) {
    for (int64_t y = 0; y < w.kernel[1]; ++y, to += width) {
      const uint8_t* const line = line_of(w, p, z, y);
      if (line == nullptr) {
        for (int64_t x = 0; x < width; ++x) to[x] = padding;
      } else if (w.transposed) {
        for (int64_t x = 0; x < width; ++x) {
          const int64_t source = source_of(w, 2, p.at[2], x);
          to[x] = source < 0 ? padding : line + source * w.channels;
        }
      } else {
        int64_t source = p.at[2] * w.stride[2] - w.padding[2];
        for (int64_t x = 0; x < width; ++x, source += w.dilation[2]) {
          to[x] = source >= 0 && source < w.size[2] ? line + source * w.channels : padding;
        }
      }
    }
  }
}

}  // namespace

bool Int8Window::is_pointwise() const {
  for (int axis = 0; axis < 3; ++axis) {
    if (kernel[axis] != 1 || stride[axis] != 1 || padding[axis] != 0 || out_size[axis] != size[axis]) return false;
  }
  return true;
}

void gather_pixels(const void* gather, int64_t pixel, void* to) {
  const Int8Gather& g = *static_cast<const Int8Gather*>(gather);
  const Int8Window& w = *g.window;
  const Int8Microkernels& kernels = *g.kernels;
  const Pixel p = pixel_of(w, pixel);
  const int64_t width = w.kernel[2], step = g.inputs * kernels.lhs_size;
  const bool adjacent = g.inputs == w.channels && w.dilation[2] == 1 && !w.transposed;
  uint8_t* cell = static_cast<uint8_t*>(to);
  for (int64_t z = 0; z < w.kernel[0]; ++z) {
    for (int64_t y = 0; y < w.kernel[1]; ++y, cell += width * step) {
      const uint8_t* const line = line_of(w, p, z, y);
      if (line == nullptr) {
        kernels.fill_lhs(w.zero, width * g.inputs, cell);
      } else if (adjacent) {
        const int64_t x = p.at[2] * w.stride[2] - w.padding[2];
        const int64_t begin = std::clamp<int64_t>(-x, 0, width), end = std::clamp(w.size[2] - x, begin, width);
        if (begin > 0) kernels.fill_lhs(w.zero, begin * g.inputs, cell);
        kernels.pack_lhs(line + (x + begin) * g.inputs, w.sign_mask, (end - begin) * g.inputs, cell + begin * step);
        if (end < width) kernels.fill_lhs(w.zero, (width - end) * g.inputs, cell + end * step);
      } else {
        for (int64_t x = 0; x < width; ++x) {
          const int64_t source = source_of(w, 2, p.at[2], x);
          if (source < 0) {
            kernels.fill_lhs(w.zero, g.inputs, cell + x * step);
          } else {
            kernels.pack_lhs(line + source * w.channels + g.first, w.sign_mask, g.inputs, cell + x * step);
          }
        }
      }
    }
  }
}

int64_t padded_columns(const Int8Window& w) {
  return std::max<int64_t>(w.out_size[2] - 1, 0) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
}

bool has_lines(const Int8Window& w) {
  return !w.transposed && w.kernel[0] == 1 && w.size[0] == 1 && w.out_size[0] == 1 && w.padding[0] == 0;
}

namespace {

constexpr int64_t kCopied = 32;  // bytes of one copy of constant size
constexpr int64_t kLine = 64;    // the bytes of a row of an LHS are a multiple of this

// Converts input channels [first, first + inputs) of one line to the format of the LHS, with padding: `width` pixels.
// If `from` is null, the line is padding.
void pad_line(const Int8Microkernels& kernels, const Int8Window& w, int64_t first, int64_t inputs, const uint8_t* from,
              int64_t width, uint8_t* to) {
  const int64_t step = inputs * kernels.lhs_size;
  if (from == nullptr) return kernels.fill_lhs(w.zero, width * inputs, to);
  const int64_t begin = std::min(w.padding[2], width), end = std::clamp(w.size[2] + w.padding[2], begin, width);
  kernels.fill_lhs(w.zero, begin * inputs, to);
  if (inputs == w.channels) {
    kernels.pack_lhs(from, w.sign_mask, (end - begin) * inputs, to + begin * step);
  } else {
    for (int64_t x = begin; x < end; ++x) {
      kernels.pack_lhs(from + (x - begin) * w.channels + first, w.sign_mask, inputs, to + x * step);
    }
  }
  kernels.fill_lhs(w.zero, (width - end) * inputs, to + end * step);
}

// Reads the input lines of output line `line`. Lines that output line `line` - 1 reads too are moved, if they are here.
void read_lines(const Int8Lines& l, int64_t line) {
  const Int8Window& w = *l.window;
  const int64_t width = padded_columns(w), bytes = width * l.inputs * l.kernels->lhs_size;
  const Pixel p{line / w.out_size[1], {0, line % w.out_size[1], 0}};
  uint8_t* to = static_cast<uint8_t*>(l.lines);
  int64_t y = 0;
  if (line == l.line + 1 && p.at[1] > 0 && w.dilation[1] == 1 && w.stride[1] < w.kernel[1]) {
    y = w.kernel[1] - w.stride[1];
    std::memmove(to, to + w.stride[1] * bytes, static_cast<size_t>(y * bytes));
  }
  for (to += y * bytes; y < w.kernel[1]; ++y, to += bytes) {
    pad_line(*l.kernels, w, l.first, l.inputs, line_of(w, p, 0, y), width, to);
  }
}

}  // namespace

size_t lines_size(const Int8Microkernels& kernels, const Int8Window& w, int64_t inputs) {
  return static_cast<size_t>(w.kernel[1] * padded_columns(w) * inputs * kernels.lhs_size + kLine);
}

void gather_from_lines(const void* context, int64_t pixel, void* to) {
  Int8Lines& l = *static_cast<Int8Lines*>(const_cast<void*>(context));
  const Int8Window& w = *l.window;
  const int64_t line = pixel == l.pixel + 1 && pixel < (l.line + 1) * w.out_size[2] ? l.line : pixel / w.out_size[2];
  if (line != l.line) read_lines(l, line);
  l.line = line, l.pixel = pixel;
  const int64_t width = padded_columns(w), step = l.inputs * l.kernels->lhs_size, run = w.kernel[2] * step;
  const uint8_t* from = static_cast<const uint8_t*>(l.lines) + (pixel - line * w.out_size[2]) * w.stride[2] * step;
  uint8_t* cell = static_cast<uint8_t*>(to);
  const uint8_t* const end = cell + (w.kernel[1] * run + kLine - 1) / kLine * kLine;
  // These values are local variables, because a compiler must assume that stores to bytes change the window.
  const int64_t height = w.kernel[1], taps = w.kernel[2], next_tap = w.dilation[2] * step, next_line = width * step;
  if (next_tap != step) {
    for (int64_t y = 0; y < height; ++y, from += next_line) {
      for (int64_t x = 0; x < taps; ++x, cell += step) {
        std::memcpy(cell, from + x * next_tap, static_cast<size_t>(step));
      }
    }
    return;
  }
  for (int64_t y = 0; y < height; ++y, from += next_line, cell += run) {
    // Bytes that are copied beyond the end of a run are overwritten by the next run, or are after the end of the row.
    if (run <= kCopied && cell + kCopied <= end) {
      std::memcpy(cell, from, kCopied);
    } else if (run >= kCopied / 2 && run <= kCopied) {
      // Two copies of constant size, which may overlap, are faster than one copy of variable size.
      std::memcpy(cell, from, kCopied / 2);
      std::memcpy(cell + run - kCopied / 2, from + run - kCopied / 2, kCopied / 2);
    } else if (run >= kCopied) {
      int64_t x = 0;
      for (; x + kCopied <= run; x += kCopied) std::memcpy(cell + x, from + x, kCopied);
      if (x < run) std::memcpy(cell + run - kCopied, from + run - kCopied, kCopied);
    } else {
      std::memcpy(cell, from, static_cast<size_t>(run));
    }
  }
}

namespace {

// Copies `count` windows, which are `step` bytes apart and have `height` lines. A line has `run` bytes, of which
// `Copied` bytes are copied.
template <int64_t Copied>
void copy_windows(const uint8_t* from, int64_t step, int64_t next_line, int64_t height, int64_t run, int64_t count,
                  int64_t stride, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t y = 0; y < height; ++y)
      std::memcpy(to + i * stride + y * run, from + i * step + y * next_line, Copied);
  }
}

}  // namespace

void gather_rows_from_lines(const void* context, int64_t pixel, int64_t pixels, int64_t stride, void* to) {
  Int8Lines& l = *static_cast<Int8Lines*>(const_cast<void*>(context));
  const Int8Window& w = *l.window;
  const int64_t step = l.inputs * l.kernels->lhs_size, run = w.kernel[2] * step;
  uint8_t* row = static_cast<uint8_t*>(to);
  // Bytes that are copied beyond the end of a run are overwritten by the next run, or are between this window and the
  // next row.
  const bool packs = l.kernels->pack_rows && l.kernels->lhs_size == 1 && run > kCopied;
  const int64_t copied = packs                ? round_up(run, kLine)
                         : run <= kCopied / 2 ? kCopied / 2
                         : run <= kCopied     ? kCopied
                                              : kLine;
  const bool fits = w.dilation[2] == 1 && run <= copied && (w.kernel[1] - 1) * run + copied <= stride;
  if (!fits) {
    for (int64_t i = 0; i < pixels; ++i) gather_from_lines(context, pixel + i, row + i * stride);
    return;
  }
  const auto copy = copied == kLine     ? &copy_windows<kLine>
                    : copied == kCopied ? &copy_windows<kCopied>
                                        : &copy_windows<kCopied / 2>;
  // With this sign mask, packing does not change the numbers, because the lines already have the format of a packed
  // LHS.
  const auto lhs_sign_mask = static_cast<uint8_t>(l.kernels->lhs_offset);
  const int64_t next_pixel = w.stride[2] * step, next_line = padded_columns(w) * step;
  for (const int64_t end = pixel + pixels; pixel < end;) {
    const int64_t line = pixel / w.out_size[2], x = pixel - line * w.out_size[2];
    const int64_t count = std::min(end - pixel, w.out_size[2] - x);
    if (line != l.line) read_lines(l, line);
    const uint8_t* const from = static_cast<const uint8_t*>(l.lines) + x * next_pixel;
    if (packs) {
      for (int64_t y = 0; y < w.kernel[1]; ++y) {
        l.kernels->pack_rows({from + y * next_line, next_pixel, lhs_sign_mask, run, stride}, count, row + y * run);
      }
    } else {
      copy(from, next_pixel, next_line, w.kernel[1], run, count, stride, row);
    }
    row += count * stride, pixel += count;
    l.line = line, l.pixel = pixel - 1;
  }
}

namespace {

// Returns whether tiles can read such windows in place as rows, and whether there are enough rows.
bool can_read_windows(const Int8Microkernels& kernels, const Int8Window& w, int64_t inputs, int64_t outputs) {
  const int64_t least = kernels.rows * 5 / 7;
  const int64_t width = w.out_size[2], parts = (width + kernels.rows - 1) / kernels.rows;
  const int64_t rows = 2 * width <= kernels.rows ? 2 * width : width / std::max<int64_t>(1, parts);
  return kernels.gemm_results && kernels.lhs_size == 1 && has_lines(w) && w.dilation[1] == 1 && w.dilation[2] == 1 &&
         w.kernel[2] * inputs % kernels.group == 0 && rows >= least &&
         (outputs - 1) % column_step(kernels) >= kernels.lanes;
}

}  // namespace

bool has_pixels(const Int8Microkernels& kernels, const Int8Window& w, int64_t inputs, int64_t outputs) {
  if (!can_read_windows(kernels, w, inputs, outputs) || w.sign_mask != kernels.lhs_offset) return false;
  for (int axis = 1; axis < 3; ++axis) {
    if (w.kernel[axis] != 1 || w.padding[axis] != 0 || (w.out_size[axis] - 1) * w.stride[axis] >= w.size[axis]) {
      return false;
    }
  }
  return true;
}

Int8Windows windows_of_pixels(const Int8Gather& g) {
  const Int8Window& w = *g.window;
  const int64_t line = w.size[2] * w.channels;
  return {w.in + g.first, w.out_size[2], w.stride[2] * w.channels, w.stride[1] * line, g.inputs, 1, 0};
}

bool has_windows(const Int8Microkernels& kernels, const Int8Window& w, int64_t inputs, int64_t outputs) {
  constexpr int64_t kMaxBytes = 512 * 1024;
  return w.kernel[1] > 1 && can_read_windows(kernels, w, inputs, outputs) &&
         static_cast<int64_t>(windows_size(w, inputs)) <= kMaxBytes;
}

size_t windows_size(const Int8Window& w, int64_t inputs) {
  const int64_t lines = std::max<int64_t>(w.out_size[1] - 1, 0) * w.stride[1] + w.kernel[1];
  return static_cast<size_t>(lines * padded_columns(w) * inputs);
}

void pad_lines(const Int8Gather& g, int64_t first, int64_t count, uint8_t* to) {
  const Int8Window& w = *g.window;
  const int64_t width = padded_columns(w), step = width * g.inputs * g.kernels->lhs_size;
  for (int64_t y = first; y < first + count; ++y, to += step) {
    const uint8_t* const from = y >= 0 && y < w.size[1] ? w.in + y * w.size[2] * w.channels : nullptr;
    pad_line(*g.kernels, w, g.first, g.inputs, from, width, to);
  }
}

Int8Windows read_windows(const Int8Gather& g, int64_t begin, int64_t end, uint8_t* image) {
  const Int8Window& w = *g.window;
  const int64_t width = padded_columns(w), line_bytes = width * g.inputs;
  const int64_t first = begin / w.out_size[2] * w.stride[1];
  const int64_t last = (end - 1) / w.out_size[2] * w.stride[1] + w.kernel[1];
  pad_lines(g, first - w.padding[1], last - first, image + first * line_bytes);
  return {image,       w.out_size[2], w.stride[2] * g.inputs, w.stride[1] * line_bytes, w.kernel[2] * g.inputs,
          w.kernel[1], line_bytes};
}

void set_lhs(Int8Gemm* gemm, const Int8Gather& gather) {
  const Int8Window& w = *gather.window;
  gemm->k = w.taps() * gather.inputs;
  if (w.is_pointwise()) {
    gemm->gather = nullptr;
    gemm->lhs = w.in + gather.first;
    gemm->lhs_stride = w.channels;
    gemm->sign_mask = w.sign_mask;
  } else {
    gemm->gather = &gather_pixels;
    gemm->context = &gather;
  }
}

size_t Int8LhsPacker::scratch_bytes(const Int8Microkernels& kernels, const Int8Window& window, int64_t inputs,
                                    int64_t outputs, bool in_place) {
  if (window.is_pointwise()) return 0;
  return in_place && has_windows(kernels, window, inputs, outputs) ? windows_size(window, inputs)
                                                                   : lines_size(kernels, window, inputs);
}

void Int8LhsPacker::set(Int8Gemm* gemm, const Int8Microkernels& kernels, const Int8Window& window, int64_t first,
                        int64_t inputs, bool in_place, int64_t begin, int64_t end, uint8_t* scratch) {
  gather = {&kernels, &window, first, inputs};
  set_lhs(gemm, gather);
  if (gemm->gather == nullptr) return;
  if (in_place && has_pixels(kernels, window, inputs, gemm->n)) {
    windows = windows_of_pixels(gather);
    gemm->windows = &windows;
  } else if (in_place && has_windows(kernels, window, inputs, gemm->n) && begin < end) {
    windows = read_windows(gather, begin, end, scratch);
    gemm->windows = &windows;
  } else if (has_lines(window)) {
    lines = {&kernels, &window, first, inputs, scratch};
    gemm->gather = &gather_from_lines, gemm->gather_rows = &gather_rows_from_lines;
    gemm->context = &lines;
  }
}

void pack_filters(const int8_t* from, int64_t channel_stride, int64_t tap_stride, int64_t channels, int64_t taps,
                  int16_t* to) {
  for (int64_t t = 0; t < taps; t += 2) {
    for (int64_t c = 0; c < channels; ++c, to += 2) {
      const int8_t* const filter = from + c * channel_stride + t * tap_stride;
      to[0] = filter[0];
      to[1] = t + 1 < taps ? filter[tap_stride] : int8_t{0};
    }
  }
}

void filter_corrections(const int16_t* packed, int64_t channels, int64_t taps, int32_t zero, const int32_t* bias,
                        int32_t* to) {
  for (int64_t c = 0; c < channels; ++c) to[c] = bias ? bias[c] : 0;
  for (int64_t t = 0; t < taps; t += 2, packed += 2 * channels) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t exact = to[c] - int64_t{zero} * (packed[2 * c] + packed[2 * c + 1]);
      to[c] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
    }
  }
}

size_t depthwise_scratch(const Int8Window& window) {
  const int64_t pointers = kPixels * window.taps() * static_cast<int64_t>(sizeof(const uint8_t*));
  return static_cast<size_t>(kPixels * window.channels * 4 + 64 + pointers + 64 + window.channels);
}

void convolve_depthwise(const Int8Microkernels& kernels, const Int8Depthwise& d, int64_t begin, int64_t end,
                        void* scratch) {
  const Int8Window& w = *d.window;
  const int64_t channels = w.channels, taps = w.taps();
  int32_t* const sums = static_cast<int32_t*>(scratch);
  const uint8_t** const pointers = reinterpret_cast<const uint8_t**>(sums + (kPixels * channels + 15) / 16 * 16);
  uint8_t* const padding = reinterpret_cast<uint8_t*>(pointers + (kPixels * taps + 7) / 8 * 8);
  std::memset(padding, static_cast<uint8_t>(w.zero) ^ w.sign_mask, static_cast<size_t>(channels));
  Pixel p = pixel_of(w, begin);
  for (int64_t first = begin; first < end; first += kPixels) {
    const int64_t pixels = std::min(kPixels, end - first);
    const uint8_t** to = pointers;
    for (int64_t i = 0; i < pixels; ++i, to += taps, step(w, &p)) set_taps(w, p, padding, to);
    kernels.channel_sums({pointers, taps, w.sign_mask, d.weights, channels, sums}, pixels);
    kernels.requantize(d.requantize, {sums, channels, pixels, channels, channels}, d.out + first * channels);
  }
}

}  // namespace rushlight::microkernels
