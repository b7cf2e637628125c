#include "microkernels/conv/int8_groups.h"

#include <algorithm>

#include "core/rounding.h"
#include "microkernels/conv/int8_window.h"
#include "microkernels/workers.h"

namespace rushlight::microkernels {

namespace {

constexpr int64_t kLine = 64;              // the alignment of packed data and of the parts of the scratch memory
constexpr int64_t kPixels = 64;            // most output pixels whose sums are stored at a time
constexpr int64_t kBandBytes = 64 * 1024;  // of the input that is prepared at a time, which stays in the cache

}  // namespace

// A block is a vector of output channels.
int64_t PackedInt8Groups::blocks() const { return divide_up(channels, kernels->lanes); }

int64_t PackedInt8Groups::block_bytes() const { return window.taps() * size * kernels->lanes; }

size_t PackedInt8Groups::packed_bytes() const {
  return static_cast<size_t>(round_up(blocks() * block_bytes(), kLine) + round_up(4 * channels, kLine));
}

void PackedInt8Groups::pack(const int8_t* filters, uint8_t* to) {
  int32_t* const corrections = reinterpret_cast<int32_t*>(to + round_up(blocks() * block_bytes(), kLine));
  weights_ = reinterpret_cast<const int8_t*>(to), corrections_ = corrections;
  const int64_t taps = window.taps(), lanes = kernels->lanes, unit = kernels->unit;
  for (int64_t first = 0; first < blocks() * lanes; first += lanes) {
    for (int64_t number = 0; number < taps * size; number += unit) {
      for (int64_t o = first; o < first + lanes; ++o) {
        for (int64_t i = 0; i < unit; ++i) {
          *to++ = o < channels ? static_cast<uint8_t>(filters[o * taps * size + number + i]) : uint8_t{0};
        }
      }
    }
  }
  for (int64_t o = 0; o < channels; ++o) {
    int64_t sum = 0;
    for (int64_t i = 0; i < taps * size; ++i) sum += filters[o * taps * size + i];
    const int64_t exact = -(int64_t{zero} + kernels->lhs_offset) * sum;
    corrections[o] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
  }
}

bool PackedInt8Groups::prepare(const int64_t* in, const int64_t* out) {
  batch_ = out[0];
  window_ = int8_window(window, in, out);
  window_.zero = static_cast<int8_t>(zero);
  const double line = static_cast<double>(window.kernel_h) * static_cast<double>(channels) *
                      (static_cast<double>(out[2]) * static_cast<double>(window.stride_w) +
                       static_cast<double>(window.kernel_w * window.dilation_w));
  if (line * kernels->lanes > static_cast<double>(kMaxLine)) return false;
  columns_ = padded_columns(window_);
  max_rows_ = 1;
  while (max_rows_ < window_.out_size[1] &&
         lines(max_rows_ + 1) * (line_bytes() + (is_repeated() ? columns_ * pixel_bytes() : 0)) <= kBandBytes) {
    ++max_rows_;
  }
  return true;
}

// Returns the bytes of a pixel in the input of a block.
int64_t PackedInt8Groups::pixel_bytes() const {
  return is_repeated() ? size * kernels->lanes * kernels->lhs_size : channels * kernels->lhs_size;
}

// Returns the number of input lines that adjacent output rows read.
int64_t PackedInt8Groups::lines(int64_t rows) const {
  return (rows - 1) * window.stride_h + (window.kernel_h - 1) * window.dilation_h + 1;
}

// The scratch memory of a worker contains padded lines of the input, the repeated channels of a block, and sums.
int64_t PackedInt8Groups::image_bytes() const { return round_up(lines(max_rows_) * line_bytes() + kLine, kLine); }

int64_t PackedInt8Groups::repeated_bytes() const {
  return is_repeated() ? round_up(lines(max_rows_) * columns_ * pixel_bytes(), kLine) : 0;
}

int64_t PackedInt8Groups::sum_bytes() const { return kPixels * kernels->lanes * 4; }

size_t PackedInt8Groups::worker_bytes() const {
  return static_cast<size_t>(image_bytes() + repeated_bytes() + sum_bytes() +
                             round_up(window.taps() * static_cast<int64_t>(sizeof(const uint8_t*)), kLine));
}

void PackedInt8Groups::run(KernelRuntimeContext& context, int64_t workers, const Operands& operands,
                           void* scratch) const {
  if (work() < kSerialWork) workers = 1;
  for_workers(context, workers, rows(), [&](int64_t worker, int64_t begin, int64_t end) {
    run_rows(operands, begin, end, static_cast<uint8_t*>(scratch) + static_cast<size_t>(worker) * worker_bytes());
  });
}

void PackedInt8Groups::run_rows(const Operands& operands, int64_t begin, int64_t end, uint8_t* scratch) const {
  const int64_t height = window_.out_size[1];
  Int8Window window = window_;
  window.sign_mask = operands.in_mask;
  for (int64_t i = begin; i < end;) {
    const int64_t image = i / height, row = i % height, rows = std::min({max_rows_, end - i, height - row});
    window.in = static_cast<const uint8_t*>(operands.in) + image * window.size[1] * window.size[2] * channels;
    pad_lines({kernels, &window, 0, channels}, row * window.stride[1] - window.padding[1], lines(rows), scratch);
    for (int64_t block = 0; block < blocks(); ++block) run_block(operands, block, i, rows, scratch);
    i += rows;
  }
}

// Computes the output channels of a block in output rows [begin, begin + rows).
void PackedInt8Groups::run_block(const Operands& operands, int64_t block, int64_t begin, int64_t rows,
                                 uint8_t* scratch) const {
  const int64_t lanes = kernels->lanes, channel = block * lanes, count = std::min(lanes, channels - channel);
  const uint8_t* input = scratch + channel / size * size * kernels->lhs_size;
  if (is_repeated()) {
    uint8_t* const repeated = scratch + image_bytes();
    kernels->repeat_groups({input, channels * kernels->lhs_size, size, repeated}, lines(rows) * columns_);
    input = repeated;
  }
  int32_t* const sums = reinterpret_cast<int32_t*>(scratch + image_bytes() + repeated_bytes());
  const uint8_t** const taps = reinterpret_cast<const uint8_t**>(reinterpret_cast<uint8_t*>(sums) + sum_bytes());
  const float* const offset = offsets ? offsets + channel : nullptr;
  Requantize how{corrections_ + channel, multipliers + channel, offset, range.zero, range.least, range.most};
  how.set_sign_mask(operands.out_mask);
  const int64_t width = window_.out_size[2], pixel = pixel_bytes();
  uint8_t* out = static_cast<uint8_t*>(operands.out) + begin * width * channels + channel;
  for (int64_t row = 0; row < rows; ++row, out += width * channels) {
    for (int64_t x = 0; x < width; x += kPixels) {
      for (int64_t tap = 0; tap < window.taps(); ++tap) {
        const int64_t y = row * window.stride_h + tap / window.kernel_w * window.dilation_h;
        taps[tap] = input + (y * columns_ + x * window.stride_w + tap % window.kernel_w * window.dilation_w) * pixel;
      }
      const int64_t pixels = std::min(kPixels, width - x);
      kernels->group_sums({taps, window.taps(), window.stride_w * pixel, size / kernels->unit, is_repeated(),
                           weights_ + block * block_bytes(), sums},
                          pixels);
      kernels->requantize(how, {sums, lanes, pixels, count, channels}, out + x * channels);
    }
  }
}

}  // namespace rushlight::microkernels
