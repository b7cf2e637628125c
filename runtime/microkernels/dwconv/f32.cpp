#include "microkernels/dwconv/f32.h"

#include <algorithm>

#include "core/rounding.h"
#include "microkernels/tables/selected.h"
#include "microkernels/workers.h"
#include "rushlight/core/error.h"

namespace rushlight::microkernels {

namespace {

// A block of channels and columns. All rows of a block are computed before the next block.
struct Block {
  int64_t floats;  // number of input floats that a row of outputs reads
  int64_t max_channels, min_channels;
};
// For vectors of 4 floats: the input of a block fits into the L1 cache.
constexpr Block kSmallBlock{5 * 1024, 64, 32};
// For wider vectors. Blocks of more channels and longer rows take 0.75 to 1.05 times as long as small blocks with AVX2,
// because each pixel is read as a longer piece of memory. The input of a block fits into the L2 cache.
constexpr Block kLargeBlock{40 * 1024, 144, 144};
constexpr int64_t kMaxChannels = 64;  // for windows of one row
constexpr int64_t kMinColumns = 16, kMinLines = 4;
// For windows of one row: the number of columns that are computed at a time, for all channels. The next taps then find
// the same columns in the L2 cache.
constexpr int64_t kLineColumns = 64;

}  // namespace

bool has_two_rows(const Window& w) {
  constexpr bool kHas3 = is_selected("window3"), kHas5 = is_selected("window5"), kHas7 = is_selected("window7");
  const bool is_square = w.kernel_h == w.kernel_w && w.stride_h == w.stride_w && w.dilation_h == 1 && w.dilation_w == 1;
  const bool is_small = (w.kernel_w == 3 && kHas3) || (w.kernel_w == 5 && kHas5);
  const bool is_large = w.kernel_w == 7 && kHas7;
  return is_square && ((is_small && w.stride_w <= 2) || (is_large && w.stride_w == 1));
}

Error PackedDepthwise::prepare(const Image& in, const Image& out) {
  RL_REQUIRE(window.kernel_h <= kMaxRows, InvalidProgram,
             "the window of a depthwise convolution has too many rows: %lld", static_cast<long long>(window.kernel_h));
  RL_REQUIRE(in.sizes[0] == out.sizes[0] && in.sizes[3] == channels && out.sizes[3] == channels &&
                 in.has_channels_last() && out.has_channels_last(),
             InvalidProgram, "the shapes or strides of the operands of a depthwise convolution do not match");
  in_ = in;
  out_ = out;
  return Error::Ok;
}

void PackedDepthwise::run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out) {
  in_.data = const_cast<float*>(in);
  out_.data = out;
  if (work() / 2 < kSerialWork) workers = 1;
  if (out_.sizes[0] * out_.sizes[1] == 1) {
    for_workers(context, workers, divide_up(out_.sizes[2], kMinColumns), [&](int64_t, int64_t begin, int64_t end) {
      const int64_t last = std::min(end * kMinColumns, out_.sizes[2]);
      compute({0, 1, in_.data, in_.sizes[1], out_.data, 0, out_.strides[2]}, begin * kMinColumns, last);
    });
    return;
  }
  for_sharing_workers(
      context, workers, out_.sizes[0] * out_.sizes[1], kMinLines, [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
          const int64_t image = i / out_.sizes[1], y = i % out_.sizes[1];
          const int64_t count = std::min(out_.sizes[1] - y, end - i);
          float* const to = out_.data + image * out_.strides[0] + y * out_.strides[1];
          compute({y, count, in_.data + image * in_.strides[0], in_.sizes[1], to, out_.strides[1], out_.strides[2]});
          i += count;
        }
      });
}

void PackedDepthwise::compute(const Rows& rows, int64_t first, int64_t last) const {
  if (window.kernel_h == 1) {
    for (int64_t x = first; x < last; x += kLineColumns) {
      for (int64_t c = 0; c < channels; c += kMaxChannels) {
        const Part part{c, std::min(kMaxChannels, channels - c), x, std::min(kLineColumns, last - x)};
        for (int64_t i = 0; i < rows.count; ++i) compute(rows, part, i, 1);
      }
    }
    return;
  }
  const Block& most = kernels->width >= 8 ? kLargeBlock : kSmallBlock;
  const int64_t reach = (window.kernel_w - 1) * window.dilation_w;
  const auto floats = [&](int64_t outputs, int64_t block) {
    return ((outputs - 1) * window.stride_w + reach + 1) * window.kernel_h * block;
  };
  const int64_t width = last - first;
  const bool pairs = has_two_rows(window);
  int64_t block = most.max_channels, columns = width;
  while (block > most.min_channels && floats(width, block) > most.floats) block /= 2;
  while (columns > kMinColumns && floats(columns, block) > most.floats) columns = round_up(columns / 2, 4);
  for (int64_t c = 0; c < channels; c += block) {
    for (int64_t x = first; x < last; x += columns) {
      const Part part{c, std::min(block, channels - c), x, std::min(columns, last - x)};
      for (int64_t i = 0; i < rows.count;) {
        const int64_t count = pairs && i + 1 < rows.count ? 2 : 1;
        compute(rows, part, i, count);
        i += count;
      }
    }
  }
}

void PackedDepthwise::compute(const Rows& rows, const Part& part, int64_t row, int64_t count) const {
  const int64_t top = (rows.y + row) * window.stride_h - window.pad_h;
  const int64_t line_count = window.kernel_h + (count - 1) * window.stride_h;
  const float* lines[kMaxRows + 2];
  for (int64_t i = 0; i < line_count; ++i) {
    const int64_t at = top + i * window.dilation_h;
    lines[i] = at < 0 || at >= in_.sizes[1] ? nullptr : rows.in + at % rows.ring * in_.strides[1] + part.channel;
  }
  DepthwiseRun run{};
  run.lines = lines;
  run.column_step = in_.strides[2];
  run.columns = in_.sizes[2];
  run.left = part.column * window.stride_w - window.pad_w;
  run.rows = count;
  run.kernel_h = window.kernel_h;
  run.kernel_w = window.kernel_w;
  run.stride = window.stride_w;
  run.dilation = window.dilation_w;
  run.tap_step = channels;
  run.weight_step = window.kernel_w * channels;
  run.weights = weights + part.channel;
  run.bias = bias ? bias + part.channel : nullptr;
  run.channels = part.channels;
  run.out = rows.out + row * rows.row_step + part.column * rows.pixel_step + part.channel;
  run.out_step = rows.pixel_step;
  run.out_row_step = rows.row_step;
  run.outputs = part.columns;
  run.clamps = epilogue.clamps;
  run.low = epilogue.low;
  run.high = epilogue.high;
  kernels->packed->depthwise(run);
  if (!epilogue.applies) return;
  for (int64_t r = 0; r < count; ++r) {
    kernels->packed->apply(epilogue, run.out + r * rows.row_step, rows.pixel_step, part.columns, part.channels);
  }
}

}  // namespace rushlight::microkernels
