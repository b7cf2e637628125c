#include <algorithm>

#include "microkernels/cortex_m/int8.h"
#include "microkernels/cortex_m/loops.h"

#if defined(RL_CORTEX_M_INT8)

namespace rushlight::microkernels::cortex_m {
namespace {

constexpr int64_t kMaxOffset = 0xffff;
// The maximum number of output pixels in a strip of rows that a depthwise convolution computes at a time, unless one
// row has more.
constexpr int32_t kStripPixels = 256;

bool is_depthwise(const Int8Convolution& c) { return c.groups > 1 && c.groups == c.in.channels; }

// Returns whether there is one pixel, and the window is one pixel too.
bool is_linear(const Int8Convolution& c) {
  const ImageWindow& w = c.window;
  return (c.out.batch | c.out.height | c.out.width | c.groups | w.kernel_h | w.kernel_w) == 1 &&
         (w.pad_h | w.pad_w) == 0 && c.in.channel_stride == c.weight_channel_stride && c.out.channel_stride == 1;
}

// Returns the number of columns of the padded image that a row of outputs reads.
int64_t padded_width(const Int8Convolution& c) {
  const ImageWindow& w = c.window;
  return (int64_t{c.out.width} - 1) * w.stride_w + (int64_t{w.kernel_w} - 1) * w.dilation_w + 1;
}

// The columns of a padded row that contain columns of the image: [begin, begin + count).
struct Columns {
  Columns(const Int8Convolution& c, int32_t width)
      : begin(std::min(c.window.pad_w, width)), count(std::min(c.in.width, width - begin)) {}
  int32_t begin, count;
};

// How a convolution reads its patches, if it has one group or several input channels per group. A patch contains the
// elements of a window in the order of the weights.
struct PatchPlan {
  explicit PatchPlan(const Int8Convolution& c);
  bool is_supported() const { return depth > 0 && reach <= kMaxOffset && line_bytes <= kMaxOffset; }
  size_t bytes() const {
    return padded(line_bytes) + offset_bytes() + kPixels * static_cast<size_t>(step) * sizeof(Patch);
  }
  size_t offset_bytes() const { return is_dense ? 0 : padded(2 * int64_t{depth}); }

  int32_t depth, step;     // elements of a patch; elements from one patch to the next
  bool is_dense;           // the elements of a patch are contiguous in the image
  bool has_lines = false;  // rows are first copied to scratch memory with their padding
  int64_t reach = 0;       // the largest offset of an element
  int64_t line_bytes = 0;
  int32_t width = 0;                                        // columns of a line
  int32_t channel_step = 0, row_step = 0, column_step = 0;  // strides in the copied lines, or in the image
};

PatchPlan::PatchPlan(const Int8Convolution& c) : depth(c.depth()) {
  const ImageWindow& w = c.window;
  const int32_t inputs = c.in.channels / c.groups;
  step = padded_depth(depth);
  const bool is_padded = w.pad_h > 0 || w.pad_w > 0;
  const auto matches = [](int32_t count, int32_t stride, int32_t weight_stride) {
    return count == 1 || stride == weight_stride;
  };
  is_dense = !is_padded && matches(inputs, c.in.channel_stride, c.weight_channel_stride) &&
             matches(w.kernel_h, w.dilation_h * c.in.row_stride, c.weight_row_stride) &&
             matches(w.kernel_w, w.dilation_w * c.in.column_stride, c.weight_column_stride);
  if (is_dense) return;
  if (!is_padded && c.sign_mask == 0) {
    channel_step = c.in.channel_stride, column_step = c.in.column_stride, row_step = c.in.row_stride * w.dilation_h;
    const auto distance = [](int32_t count, int32_t stride) { return (int64_t{count} - 1) * stride; };
    reach = distance(inputs, channel_step) + distance(w.kernel_h, row_step) +
            distance(w.kernel_w, w.dilation_w * column_step);
    if (reach <= kMaxOffset) return;
  }
  has_lines = true;
  const int64_t columns = padded_width(c);
  line_bytes = columns * inputs * w.kernel_h;
  reach = 0;
  if (line_bytes > kMaxOffset) return;
  width = static_cast<int32_t>(columns);
  const bool is_interleaved = c.in.channel_stride < c.in.column_stride;
  channel_step = is_interleaved ? 1 : width;
  column_step = is_interleaved ? inputs : 1;
  row_step = width * inputs;
}

// Copies the rows that output row `y` reads. The padding columns of the lines already contain the zero point. Rows
// outside of the image are filled with it.
void fill_lines(const Int8Convolution& c, const PatchPlan& plan, const uint8_t* image, int32_t y, int8_t* lines) {
  const ImageWindow& w = c.window;
  const int32_t inputs = c.in.channels / c.groups;
  const Columns columns(c, plan.width);
  if (columns.count <= 0) return;
  int32_t outer = inputs, outer_from = c.in.channel_stride, inner = columns.count, inner_from = c.in.column_stride;
  int32_t outer_to = plan.channel_step;
  if (plan.channel_step == 1) {
    const bool is_whole = c.in.channel_stride == 1 && c.in.column_stride == inputs;
    outer = is_whole ? 1 : columns.count, outer_from = c.in.column_stride, outer_to = plan.column_step;
    inner = is_whole ? columns.count * inputs : inputs, inner_from = c.in.channel_stride;
  }
  for (int32_t tap = 0; tap < w.kernel_h; ++tap, lines += plan.row_step) {
    const int32_t row = y * w.stride_h - w.pad_h + tap * w.dilation_h;
    if (row < 0 || row >= c.in.height) {
      fill_bytes(lines, plan.row_step, c.zero);
      continue;
    }
    const uint8_t* from = image + row * c.in.row_stride;
    int8_t* to = lines + columns.begin * plan.column_step;
    for (int32_t i = 0; i < outer; ++i) {
      copy_bytes(from, inner_from, inner, c.sign_mask, to);
      from += outer_from;
      to += outer_to;
    }
  }
}

void set_offsets(const Int8Convolution& c, const PatchPlan& plan, uint16_t* offsets) {
  const ImageWindow& w = c.window;
  const int32_t end = static_cast<int32_t>(plan.offset_bytes() / sizeof(uint16_t));
  for (int32_t i = plan.depth; i < end; ++i) offsets[i] = 0;
  for (int32_t channel = 0; channel < c.in.channels / c.groups; ++channel) {
    for (int32_t y = 0; y < w.kernel_h; ++y) {
      int32_t place = channel * c.weight_channel_stride + y * c.weight_row_stride;
      int32_t offset = channel * plan.channel_step + y * plan.row_step;
      for (int32_t x = 0; x < w.kernel_w; ++x) {
        offsets[position_in_patch(place, plan.depth)] = static_cast<uint16_t>(offset);
        place += c.weight_column_stride;
        offset += w.dilation_w * plan.column_step;
      }
    }
  }
}

void convolve_patches(const Int8Convolution& c, const PatchPlan& plan, const uint8_t* in, const int8_t* weights,
                      Int8Channel* all_channels, uint8_t* out, uint8_t* scratch) {
  const ImageWindow& w = c.window;
  const int32_t inputs = c.in.channels / c.groups, outputs = c.out.channels / c.groups;
  auto* const lines = reinterpret_cast<int8_t*>(scratch);
  auto* const offsets = reinterpret_cast<uint16_t*>(scratch + padded(plan.line_bytes));
  auto* const patches = reinterpret_cast<Patch*>(scratch + padded(plan.line_bytes) + plan.offset_bytes());
  if (!plan.is_dense) set_offsets(c, plan, offsets);
  if (plan.has_lines) fill_bytes(lines, static_cast<int32_t>(plan.line_bytes), c.zero);
  if (c.out.height * c.out.width >= kPixels) {
    set_corrections(weights, plan.depth, c.zero, all_channels, c.out.channels);
  }
  const int32_t row_stride = plan.has_lines ? 0 : w.stride_h * c.in.row_stride;
  const int32_t column_stride = w.stride_w * (plan.has_lines ? plan.column_step : c.in.column_stride);
  for (int32_t image = 0; image < c.out.batch; ++image) {
    for (int32_t group = 0; group < c.groups; ++group) {
      const uint8_t* const source = in + image * c.in.batch_stride + group * inputs * c.in.channel_stride;
      const auto* const first = plan.has_lines ? lines : reinterpret_cast<const int8_t*>(source);
      const int8_t* const filters = weights + group * outputs * plan.depth;
      const Int8Channel* const channels = all_channels + group * outputs;
      uint8_t* to = out + image * c.out.batch_stride + group * outputs * c.out.channel_stride;
      int32_t waiting = 0;
      for (int32_t y = 0; y < c.out.height; ++y) {
        if (plan.has_lines) fill_lines(c, plan, source, y, lines);
        const int8_t* from = first + y * row_stride;
        for (int32_t x = 0; x < c.out.width; ++x, from += column_stride) {
          Patch* const patch = patches + waiting * plan.step;
          if (plan.is_dense) {
            expand(reinterpret_cast<const uint8_t*>(from), c.sign_mask, plan.depth, c.zero, patch);
          } else {
            gather(from, offsets, plan.depth, c.zero, patch);
          }
          if (++waiting < kPixels) continue;
          products(patches, plan.step, filters, plan.depth, channels, outputs, c.output, to, c.out.column_stride,
                   c.out.channel_stride);
          to += kPixels * c.out.column_stride;
          waiting = 0;
        }
      }
      for (int32_t i = 0; i < waiting; ++i, to += c.out.column_stride) {
        products_of_one(patches + i * plan.step, filters, plan.depth, c.zero, channels, outputs, c.output, to,
                        c.out.channel_stride);
      }
    }
  }
}

// How a depthwise convolution copies strips of planes with their padding to scratch memory.
struct StripPlan {
  explicit StripPlan(const Int8Convolution& c);
  bool is_supported() const { return plane <= kMaxOffset; }
  size_t bytes() const { return plane_bytes() + place_bytes() + offset_bytes() + padded(taps * int64_t{4}); }
  // Pairs of taps may read one number after the end of the plane.
  size_t plane_bytes() const { return padded((plane + 2) * static_cast<int64_t>(sizeof(Plane))); }
  size_t place_bytes() const { return padded((pixels + kTapPixels) * int64_t{2}); }
  size_t offset_bytes() const { return padded(taps * int64_t{2}); }

  int32_t rows;    // output rows of a strip
  int32_t pixels;  // output pixels of a strip
  int32_t taps;
  int64_t width, plane;  // sizes of a row and of the whole strip of the padded image, in elements
};

StripPlan::StripPlan(const Int8Convolution& c) : taps(tap_count(c.window)), width(padded_width(c)) {
  const ImageWindow& w = c.window;
  rows = std::min(c.out.height, std::max<int32_t>(1, kStripPixels / c.out.width));
  pixels = rows * c.out.width;
  plane = ((int64_t{rows} - 1) * w.stride_h + (int64_t{w.kernel_h} - 1) * w.dilation_h + 1) * width;
}

void set_places(const Int8Convolution& c, int32_t width, int32_t rows, uint16_t* places) {
  for (int32_t y = 0; y < rows; ++y) {
    int32_t place = y * c.window.stride_h * width;
    for (int32_t x = 0; x < c.out.width; ++x, place += c.window.stride_w) *places++ = static_cast<uint16_t>(place);
  }
  for (int32_t i = 0; i < kTapPixels; ++i) *places++ = 0;
}

void set_tap_offsets(const ImageWindow& window, int32_t width, uint16_t* offsets) {
  for (int32_t y = 0; y < window.kernel_h; ++y) {
    for (int32_t x = 0; x < window.kernel_w; x += tap_step(window)) {
      *offsets++ = static_cast<uint16_t>(y * window.dilation_h * width + x * window.dilation_w);
    }
  }
}

// Packs the weights of a channel. Returns the correction of the channel.
int32_t set_tap_weights(const Int8Convolution& c, const int8_t* weights, TapWeight* to) {
  int32_t sum = 0;
  for (int32_t y = 0; y < c.window.kernel_h; ++y, weights += c.weight_row_stride) {
    for (int32_t x = 0; x < c.window.kernel_w; x += tap_step(c.window)) {
      const int32_t first = weights[x * c.weight_column_stride];
#if defined(RL_CORTEX_M_DSP)
      const bool is_pair = tap_step(c.window) == 2 && x + 1 < c.window.kernel_w;
      const int32_t second = is_pair ? weights[(x + 1) * c.weight_column_stride] : 0;
      *to++ = static_cast<uint32_t>(first & 0xffff) | static_cast<uint32_t>(second) << 16;
#else
      *to++ = first;
      sum += first;
#endif
    }
  }
  return -c.zero * sum;
}

void convolve_planes(const Int8Convolution& c, const StripPlan& plan, const uint8_t* in, const int8_t* weights,
                     Int8Channel* channels, uint8_t* out, uint8_t* scratch) {
  const ImageWindow& w = c.window;
  const auto width = static_cast<int32_t>(plan.width);
  const int32_t depth = c.depth(), multiples = c.out.channels / c.groups;
  auto* const plane = reinterpret_cast<Plane*>(scratch);
  scratch += plan.plane_bytes();
  auto* const places = reinterpret_cast<uint16_t*>(scratch);
  scratch += plan.place_bytes();
  auto* const offsets = reinterpret_cast<uint16_t*>(scratch);
  auto* const tap_weights = reinterpret_cast<TapWeight*>(scratch + plan.offset_bytes());
  set_tap_offsets(w, width, offsets);
  const Columns columns(c, width);
  for (int32_t image = 0; image < c.out.batch; ++image) {
    for (int32_t y = 0; y < c.out.height; y += plan.rows) {
      const int32_t rows = std::min(plan.rows, c.out.height - y), top = y * w.stride_h - w.pad_h;
      const int32_t lines = (rows - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1;
      const int32_t begin = std::max<int32_t>(0, -top), end = std::min(lines, c.in.height - top);
      set_places(c, width, rows, places);
      fill_plane(plane, static_cast<int32_t>(plan.plane) + 2, c.zero);
      for (int32_t channel = 0; channel < c.groups; ++channel) {
        const uint8_t* from =
            in + image * c.in.batch_stride + channel * c.in.channel_stride + (top + begin) * c.in.row_stride;
        Plane* to = plane + begin * width + columns.begin;
        for (int32_t line = begin; line < end; ++line, from += c.in.row_stride, to += width) {
          copy_plane(from, c.in.column_stride, columns.count, c.sign_mask, c.zero, to);
        }
        for (int32_t o = channel * multiples; o < (channel + 1) * multiples; ++o) {
          channels[o].correction = set_tap_weights(c, weights + o * depth, tap_weights);
          depthwise(plane, places, rows * c.out.width, offsets, tap_weights, plan.taps, channels[o], c.output,
                    out + image * c.out.batch_stride + o * c.out.channel_stride + y * c.out.width * c.out.column_stride,
                    c.out.column_stride);
        }
      }
    }
  }
}

// Computes with a plan. Returns false if the plan is not supported, or as convolve().
template <typename Plan, typename Compute>
bool convolve_by(const Plan& plan, const Compute& compute, const Int8Convolution& c, const uint8_t* in,
                 const int8_t* weights, uint8_t* out, const ScratchMemory& memory) {
  if (!plan.is_supported()) return false;
  const size_t first = channel_bytes(c.out.channels);
  auto* const scratch = static_cast<uint8_t*>(memory.allocate(memory.context, first + plan.bytes()));
  auto* const channels = reinterpret_cast<Int8Channel*>(scratch);
  if (scratch == nullptr || !set_channels(c.scales, channels, c.out.channels)) return false;
  compute(c, plan, in, weights, channels, out, scratch + first);
  return true;
}

}  // namespace

bool convolve(const Int8Convolution& c, const uint8_t* in, const int8_t* weights, uint8_t* out,
              const ScratchMemory& memory) {
  if (c.out.row_stride != c.out.width * c.out.column_stride) return false;
  if (is_linear(c)) {
    return multiply({1, c.in.channels, c.out.channels, c.sign_mask, c.zero, c.scales, c.output}, in, weights, out,
                    memory);
  }
  if (is_depthwise(c)) return convolve_by(StripPlan(c), convolve_planes, c, in, weights, out, memory);
  return convolve_by(PatchPlan(c), convolve_patches, c, in, weights, out, memory);
}

}  // namespace rushlight::microkernels::cortex_m

#endif  // RL_CORTEX_M_INT8
