// Depthwise convolutions over int8, a row of outputs and a block of channels at a time.
#include <cstring>

#include "backends/cpu/bytes.h"

namespace rushlight::cpu {

namespace {

using tiles::kDepthwiseChannels;

constexpr int64_t kColumns = 32;  // outputs whose sums are held at once: of one row, or of several
constexpr int64_t kMostTaps = 1 << 14;
constexpr int64_t kThreeRows = 8;                  // of results, for which sources are written down at once
constexpr int64_t kMostSide = 7, kMostStride = 2;  // of windows whose taps are paired once for all outputs

// values: input [n, h, w, c], weights int8 [kh, kw, c], offsets or none, multipliers, output, all by channel as in an
// 8-bit product. ints: window (8), zero point of the input, range of the output. The input lies in the arena, since up
// to 15 bytes behind it are read.
class ByteDepthwiseStep final : public Step {
 public:
  Error bind(Binder& binder) {
    window_ = read_window(binder, 0);
    zero_ = read_zero(binder, 8);
    range_ = read_range(binder, 9);
    in_ = binder.input_of(0, ScalarType::Char);
    out_ = binder.output_of(4, ScalarType::Char);
    RL_TRY(binder.error());
    RL_REQUIRE(binder.is_arena(0) && in_->rank == 4 && taps() <= kMostTaps, InvalidProgram,
               "operands of an 8-bit depthwise convolution do not fit");
    channels_ = in_->sizes[3];
    const int8_t* const filters = binder.bytes(1, taps() * channels_);
    offsets_ = binder.optional_constant(2, channels_);
    multipliers_ = binder.constant(3, channels_);
    has_three_ = tiles::byte_tiles().loops.depthwise_three && window_.kernel_h == 3 && window_.kernel_w == 3 &&
                 window_.dilation_h == 1 && window_.dilation_w == 1 && window_.stride_h <= kMostStride &&
                 window_.stride_w <= kMostStride;
    if (has_three_) return bind_three(binder, filters);
    weights_ = binder.array<int16_t>(static_cast<size_t>(blocks() * block_size()));
    corrections_ = binder.array<int32_t>(static_cast<size_t>(channels_));
    padding_ = binder.array<int8_t>(static_cast<size_t>(channels_ + kDepthwiseChannels));
    places_ = binder.array<int64_t>(static_cast<size_t>(taps()));
    RL_TRY(binder.error());
    std::memset(padding_, zero_, static_cast<size_t>(channels_ + kDepthwiseChannels));
    for (int64_t b = 0; b < blocks(); ++b) {
      const int64_t first = b * kDepthwiseChannels;
      const int64_t count = std::min(kDepthwiseChannels, channels_ - first);
      const tiles::ByteLoops& loops = tiles::byte_tiles().loops;
      int16_t* const to = weights_ + b * block_size();
      if (is_small()) {
        loops.pack_depthwise_window(filters + first, channels_, window_.kernel_h, window_.kernel_w, count, to);
      } else {
        loops.pack_depthwise(filters + first, channels_, taps(), count, to);
      }
    }
    for (int64_t c = 0; c < channels_; ++c) {
      int32_t sum = 0;
      for (int64_t tap = 0; tap < taps(); ++tap) sum += filters[tap * channels_ + c];
      corrections_[c] = -zero_ * sum;
    }
    return Error::Ok;
  }

  Error bind_three(Binder& binder, const int8_t* filters) {
    three_ = binder.array<uint8_t>(static_cast<size_t>(three_blocks() * tiles::kThreeBytes));
    padding_ = binder.array<int8_t>(static_cast<size_t>(channels_));
    RL_TRY(binder.error());
    std::memset(padding_, zero_, static_cast<size_t>(channels_));
    for (int64_t b = 0; b < three_blocks(); ++b) {
      const int64_t first = b * tiles::kThreeChannels;
      tiles::byte_tiles().loops.pack_depthwise_three(
          {filters + first, channels_, std::min(tiles::kThreeChannels, channels_ - first), zero_, multipliers_ + first,
           offsets_ ? offsets_ + first : nullptr, &range_},
          three_ + b * tiles::kThreeBytes);
    }
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == channels_ && out_->sizes[3] == channels_, InvalidProgram,
               "an 8-bit depthwise convolution has the wrong channels");
    columns_ =
        (std::max<int64_t>(out_->sizes[2], 1) - 1) * window_.stride_w + (window_.kernel_w - 1) * window_.dilation_w + 1;
    RL_REQUIRE(columns_ <= 1 << 24, InvalidProgram, "an 8-bit depthwise convolution is too wide");
    const bool has_rows = window_.dilation_h == 1 && window_.stride_h <= window_.kernel_h;
    if (has_three_) {
      most_rows_ = kThreeRows;
      return Error::Ok;
    }
    most_rows_ = has_rows ? std::max<int64_t>(kColumns / std::max<int64_t>(out_->sizes[2], 1), 1) : 1;
    for (int64_t tap = 0; tap < taps(); ++tap) {
      places_[tap] = tap / window_.kernel_w * columns_ + tap % window_.kernel_w * window_.dilation_w;
    }
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    const int64_t height = in_->sizes[1], width = in_->sizes[2], rows = out_->sizes[1];
    const int8_t* const data = static_cast<const int8_t*>(in_->data);
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, out_->sizes[0] * rows, [&](int64_t worker, int64_t begin, int64_t end) {
      int32_t* const sums = reinterpret_cast<int32_t*>(run.scratch + worker * worker_floats());
      const int8_t** const sources =
          reinterpret_cast<const int8_t**>(sums + kColumns * kDepthwiseChannels + pair_floats());
      for (int64_t i = begin; i < end;) {
        const int64_t count = std::min({most_rows_, end - i, rows - i % rows});
        const int8_t* const image = data + i / rows * height * width * channels_;
        for (int64_t line = 0; line < lines(count); ++line) {
          const int64_t y = i % rows * window_.stride_h - window_.pad_h + line * window_.dilation_h;
          const bool is_outside = y < 0 || y >= height;
          set_line(is_outside ? nullptr : image + y * width * channels_, width, sources + line * columns_);
        }
        uint8_t* const to = static_cast<uint8_t*>(out_->data) + i * out_->sizes[2] * channels_;
        if (has_three_) {
          for (int64_t b = 0; b < three_blocks(); ++b) convolve_three(sources, count, b, to);
        } else {
          for (int64_t b = 0; b < blocks(); ++b) convolve(sources, count, b, sums, to);
        }
        i += count;
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "8-bit depthwise convolution"; }
  int64_t work() const override { return 2 * out_->numel() * taps(); }

 private:
  int64_t taps() const { return window_.kernel_h * window_.kernel_w; }
  int64_t blocks() const { return divide_up(channels_, kDepthwiseChannels); }
  bool is_small() const {
    return window_.kernel_h <= kMostSide && window_.kernel_w <= kMostSide && window_.stride_w <= kMostStride &&
           window_.dilation_w == 1;
  }
  int64_t three_blocks() const { return divide_up(channels_, tiles::kThreeChannels); }
  int64_t block_size() const {
    return (is_small() ? tiles::window_pairs(window_.kernel_h, window_.kernel_w) : (taps() + 1) / 2) * 32;
  }
  int64_t pair_floats() const {
    if (!is_small() || has_three_) return 0;
    return tiles::window_pairs_size(window_.kernel_h, window_.kernel_w, window_.stride_w, kColumns) / 2;
  }
  // Of the input, `dilation` apart, which so many rows of outputs read.
  int64_t lines(int64_t rows) const { return (rows - 1) * window_.stride_h + window_.kernel_h; }
  // Sums of outputs, pairs of taps, sources of rows.
  int64_t worker_floats() const {
    return kColumns * kDepthwiseChannels + pair_floats() +
           round_up(lines(most_rows_) * columns_ * static_cast<int64_t>(sizeof(const int8_t*)) / 4, 16);
  }

  // The pixels of a line with its padding, or padding alone for null.
  void set_line(const int8_t* pixels, int64_t width, const int8_t** to) const {
    const int64_t begin = pixels ? std::min(window_.pad_w, columns_) : columns_;
    const int64_t end = pixels ? std::clamp(window_.pad_w + width, begin, columns_) : columns_;
    std::fill(to, to + begin, padding_);
    for (int64_t j = begin; j < end; ++j) to[j] = pixels + (j - begin) * channels_;
    std::fill(to + end, to + columns_, padding_);
  }

  void convolve_three(const int8_t* const* sources, int64_t rows, int64_t block, uint8_t* out) const {
    const int64_t channel = block * tiles::kThreeChannels, width = out_->sizes[2];
    const int64_t most = window_.stride_h == 1 && window_.stride_w == 1 ? 2 : 1;
    for (int64_t row = 0; row < rows; row += most) {
      int8_t* const to = reinterpret_cast<int8_t*>(out) + row * width * channels_ + channel;
      tiles::byte_tiles().loops.depthwise_three(
          {sources + row * window_.stride_h * columns_, columns_, window_.stride_w, channel,
           std::min(tiles::kThreeChannels, channels_ - channel), three_ + block * tiles::kThreeBytes, width,
           std::min(most, rows - row), to, channels_, width * channels_});
    }
  }

  void convolve(const int8_t* const* sources, int64_t rows, int64_t block, int32_t* sums, uint8_t* out) const {
    const tiles::ByteTiles& t = tiles::byte_tiles();
    const int64_t channel = block * kDepthwiseChannels, width = out_->sizes[2];
    const int64_t count = std::min(kDepthwiseChannels, channels_ - channel);
    const int16_t* const weights = weights_ + block * block_size();
    int16_t* const pairs = reinterpret_cast<int16_t*>(sums + kColumns * kDepthwiseChannels);
    const tiles::Requantize how{corrections_ + channel,
                                multipliers_ + channel,
                                offsets_ ? offsets_ + channel : nullptr,
                                range_.zero,
                                range_.least,
                                range_.most};
    for (int64_t x = 0; x < width; x += kColumns) {
      const int64_t end = std::min(x + kColumns, width);
      for (int64_t row = 0; row < rows; ++row) {
        const int8_t* const* const from = sources + row * window_.stride_h * columns_;
        int32_t* const to = sums + row * width * kDepthwiseChannels;
        if (is_small()) {
          t.loops.depthwise_window({from + x * window_.stride_w, columns_, window_.kernel_h, window_.kernel_w,
                                    window_.stride_w, channel, weights, end - x, pairs, to});
        } else {
          t.loops.depthwise({from, places_, taps(), window_.stride_w, channel, weights, x, end, to});
        }
      }
      // Rows of which several are taken are no wider than that.
      t.requantize(how, {sums, kDepthwiseChannels, rows * (end - x), count, channels_}, out + x * channels_ + channel);
    }
  }

  Window window_{};
  int32_t zero_ = 0;
  tiles::ByteRange range_{};
  int64_t channels_ = 0, columns_ = 0, most_rows_ = 1;
  int16_t* weights_ = nullptr;
  bool has_three_ = false;    // results come from ByteLoops::depthwise_three
  uint8_t* three_ = nullptr;  // its blocks
  const float* offsets_ = nullptr;
  const float* multipliers_ = nullptr;
  int32_t* corrections_ = nullptr;
  int8_t* padding_ = nullptr;
  int64_t* places_ = nullptr;  // of taps, in a row of sources
  const View* in_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_byte_depthwise(Binder& binder) {
  ByteDepthwiseStep* step = binder.make<ByteDepthwiseStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
