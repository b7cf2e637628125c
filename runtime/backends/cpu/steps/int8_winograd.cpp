// 3 x 3 convolutions of int8 images with Winograd's algorithm, which needs fewer multiplications than a direct
// convolution. The results are exact.
#include <cstring>

#include "backends/cpu/int8.h"
#include "microkernels/winograd/int8.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kColumns = 64;             // output channels of a block of filters
constexpr int64_t kInputBytes = 320 * 1024;  // bytes of transformed input that are stored at a time
constexpr int64_t kMaxTiles = 28;            // the most tiles of a group
constexpr int64_t kMaxRun = 4;  // the most adjacent tiles whose products are transformed to outputs at a time
constexpr int kMaxPoints = 36, kMaxSide = 4;
constexpr int64_t kLineStep = kMaxRun * kMaxSide * kColumns;  // sums from line to line of the outputs of a run

// A tile has m x m outputs. Its input is transformed to (m + 2)^2 vectors of channels, the points. Tiles are computed
// in groups: the inputs of a group are transformed; for each block of output channels and each point, an int16 GEMM
// multiplies the points of all tiles by the transformed filters; the products are transformed to outputs.
class Int8WinogradStep final : public Step {
 public:
  Error bind(const schema::Int8Gemm& op, Binder& binder, int m) {
    m_ = m;
    pad_h_ = op.window().pad_h();
    pad_w_ = op.window().pad_w();
    channels_ = op.channels();
    outputs_ = op.outputs();
    zero_ = op.input_zero_point();
    RL_ASSIGN(range_, range_of(op.range()));
    in_ = binder.input_of(op.input(), ScalarType::Char);
    out_ = binder.output_of(op.output(), ScalarType::Char);
    if (op.residual().has_value()) {
      residual_ = binder.input_of(op.residual(), ScalarType::Char);
      RL_ASSIGN(sum_, sum_of(op.sum(), range_.zero));
    }
    const uint8_t* const weights = binder.packed_int8(op.weight(), op.packing(), 1, 9 * channels_, outputs_);
    offsets_ = binder.optional_constant(op.offset(), outputs_);
    multipliers_ = binder.constant(op.multiplier(), outputs_);
    RL_TRY(binder.error());
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t magnitude = microkernels::largest_magnitude(t, weights, outputs_, channels_);
    if (magnitude > microkernels::max_winograd_magnitude(m)) m_ = 0;
    if (m_ == 0) return Error::Ok;
    filters_ = binder.array<int16_t>(
        static_cast<size_t>(microkernels::winograd_filter_size(t.lanes, m_, outputs_, channels_)));
    corrections_ = binder.array<int32_t>(static_cast<size_t>(outputs_));
    padding_ = binder.array<int8_t>(static_cast<size_t>(channels_));
    RL_TRY(binder.error());
    microkernels::pack_winograd_filters(t, m_, weights, outputs_, channels_, kColumns, filters_);
    // Here the LHS is int8, even if the LHS of the GEMM microkernels is uint8, so that lhs_offset is not needed.
    microkernels::zero_corrections(t, weights, outputs_, zero_ - t.lhs_offset, nullptr, corrections_);
    return Error::Ok;
  }

  // Returns false if the weights are so large that the sums might not be exact.
  bool is_exact() const { return m_ != 0; }

  Error prepare() override {
    RL_TRY(require_images(*in_, *out_));
    RL_REQUIRE(in_->sizes[3] == channels_ && out_->sizes[3] == outputs_, InvalidProgram,
               "the channels of the operands of an int8 convolution do not match");
    if (residual_) RL_TRY(require_residual(*residual_, *out_));
    tile_rows_ = divide_up(out_->sizes[1], m_);
    tile_columns_ = divide_up(out_->sizes[2], m_);
    tiles_ = out_->sizes[0] * tile_rows_ * tile_columns_;
    const int64_t tile_bytes = points() * row_step() * int64_t{sizeof(int16_t)};
    group_tiles_ = std::clamp<int64_t>(kInputBytes / tile_bytes, 1, kMaxTiles);
    group_tiles_ = std::max<int64_t>(1, std::min(group_tiles_, tiles_));
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers * (input_floats() + sums_floats()));
  }

  Error run(Run& run) override {
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    std::memset(padding_, static_cast<uint8_t>(zero_) ^ in_->sign_mask, static_cast<size_t>(channels_));
    const bool has_many_tiles = tiles_ >= workers * microkernels::int8_microkernels().rows;
    workers == 1 || has_many_tiles ? run_by_tiles(run, workers) : run_by_channels(run, workers);
    return Error::Ok;
  }

  const char* name() const override {
    return m_ == 4 ? "int8 Winograd convolution F4" : "int8 Winograd convolution F2";
  }
  bool supports_unsigned(const View& view) const override {
    return microkernels::int8_microkernels().lhs_offset == 0x80 &&
           (&view == in_ || &view == residual_ || &view == out_);
  }
  int64_t work() const override { return 2 * out_->numel() * channels_ * 9; }

 private:
  // The position of the first output of a tile.
  struct Place {
    int64_t image, line, column;
  };
  Place place(int64_t tile) const {
    const int64_t line = tile / tile_columns_;
    return {line / tile_rows_, line % tile_rows_ * m_, tile % tile_columns_ * m_};
  }
  int64_t points() const { return (m_ + 2) * (m_ + 2); }
  // Returns the int16 numbers from tile to tile of a point. This is an odd number of cache lines, and the distance
  // between points is not a power of two, so that they use different cache sets.
  int64_t row_step() const { return (round_up(channels_, 32) / 32 | 1) * 32; }
  // Returns the memory of the transformed input of a group [points, group_tiles_, row_step()] in floats.
  int64_t input_floats() const { return round_up(points() * group_tiles_ * row_step() / 2, 16); }
  // Returns the sums from point to point of the products [points, group_tiles_, kColumns].
  int64_t sums_step() const { return group_tiles_ * kColumns + 16; }
  // Returns the memory of the products of a block, and of the outputs of a run of tiles, in floats.
  int64_t sums_floats() const { return points() * sums_step() + kMaxSide * kLineStep; }

  // Divides the tiles among the workers.
  void run_by_tiles(Run& run, int64_t workers) const {
    for_workers(run.context, workers, tiles_, [&](int64_t worker, int64_t begin, int64_t end) {
      int16_t* const input = reinterpret_cast<int16_t*>(run.scratch + worker * (input_floats() + sums_floats()));
      int32_t* const sums = reinterpret_cast<int32_t*>(input) + input_floats();
      const int64_t groups = divide_up(end - begin, group_tiles_);
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t first = begin + (end - begin) * g / groups;
        const int64_t count = begin + (end - begin) * (g + 1) / groups - first;
        for (int64_t i = 0; i < count; ++i) transform(first + i, input + i * row_step());
        for (int64_t c = 0; c < outputs_; c += kColumns) convolve(first, count, c, input, sums);
      }
    });
  }

  // Divides the output channels among the workers, for images with few tiles.
  void run_by_channels(Run& run, int64_t workers) const {
    int16_t* const input = reinterpret_cast<int16_t*>(run.scratch);
    const int64_t groups = divide_up(tiles_, group_tiles_);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t first = tiles_ * g / groups, count = tiles_ * (g + 1) / groups - first;
      for_workers(run.context, workers, count, [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) transform(first + i, input + i * row_step());
      });
      const int64_t blocks = divide_up(outputs_, kColumns);
      for_workers(run.context, workers, blocks, [&](int64_t worker, int64_t begin, int64_t end) {
        int32_t* const sums = reinterpret_cast<int32_t*>(run.scratch + input_floats() + worker * sums_floats());
        for (int64_t block = begin; block < end; ++block) convolve(first, count, block * kColumns, input, sums);
      });
    }
  }

  // Transforms the input of a tile. The points are group_tiles_ * row_step() numbers apart.
  void transform(int64_t tile, int16_t* to) const {
    const Place at = place(tile);
    const int64_t height = in_->sizes[1], width = in_->sizes[2];
    const int8_t* const image = static_cast<const int8_t*>(in_->data) + at.image * height * width * channels_;
    const int8_t* pixels[kMaxPoints];
    const int8_t** to_pixel = pixels;
    for (int64_t y = at.line - pad_h_; y < at.line - pad_h_ + m_ + 2; ++y) {
      for (int64_t x = at.column - pad_w_; x < at.column - pad_w_ + m_ + 2; ++x) {
        const bool is_outside = y < 0 || y >= height || x < 0 || x >= width;
        *to_pixel++ = is_outside ? padding_ : image + (y * width + x) * channels_;
      }
    }
    loops_->input(m_, pixels, in_->sign_mask, channels_, to, group_tiles_ * row_step());
  }

  // Computes a block of output channels, from `channel` on, for `count` tiles from `first` on.
  void convolve(int64_t first, int64_t count, int64_t channel, const int16_t* input, int32_t* sums) const {
    const int64_t columns = std::min(kColumns, outputs_ - channel);
    multiply(count, channel, columns, input, sums);
    for (int64_t i = 0, run; i < count; i += run) {
      const int64_t left_in_row = tile_columns_ - (first + i) % tile_columns_;
      run = std::min({count - i, kMaxRun, left_in_row});
      finish(first + i, run, channel, columns, sums + i * kColumns, sums + points() * sums_step());
    }
  }

  // Multiplies all points of `count` tiles by the filters of a block of output channels.
  void multiply(int64_t count, int64_t channel, int64_t columns, const int16_t* input, int32_t* sums) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t step = microkernels::column_step(t), width = round_up(columns, t.lanes);
    const int64_t gemms = divide_up(count, t.rows);
    for (int64_t point = 0; point < points(); ++point) {
      const int16_t* const lhs = input + point * group_tiles_ * row_step();
      int32_t* const products = sums + point * sums_step();
      for (int64_t column = 0; column < width; column += step) {
        const int vectors = static_cast<int>(std::min(step, width - column) / t.lanes);
        const int16_t* const rhs = filters_ + (channel * points() + point * width + column) * channels_;
        const int64_t panel = vectors * t.lanes * channels_;  // numbers of a panel of filters
        for (int64_t i = 0, g = 0; g < gemms; ++g) {
          const int64_t rows = (count - i + gemms - g - 1) / (gemms - g);
          // Each GEMM prefetches a part of the next panel.
          const int16_t* const next = rhs + panel;
          for (int64_t j = panel * g / gemms; j < panel * (g + 1) / gemms; j += 32) __builtin_prefetch(next + j, 0, 2);
          loops_->gemm(static_cast<int>(rows), vectors,
                       {lhs + i * row_step(), row_step(), rhs, channels_ / 2, products + i * kColumns + column,
                        kColumns, false});
          i += rows;
        }
      }
    }
  }

  // Transforms the products of `run` adjacent tiles of one row of tiles to `outputs`, line by line, and requantizes
  // them.
  void finish(int64_t tile, int64_t run, int64_t channel, int64_t columns, const int32_t* products,
              int32_t* outputs) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const Place at = place(tile);
    const int64_t height = out_->sizes[1], width = out_->sizes[2];
    for (int64_t i = 0; i < run; ++i) {
      loops_->output(m_, products + i * kColumns, sums_step(), round_up(columns, t.lanes), outputs + i * m_ * kColumns,
                     kLineStep, kColumns);
    }
    int64_t first = ((at.image * height + at.line) * width + at.column) * outputs_ + channel;  // output of a line
    const float* const offset = offsets_ ? offsets_ + channel : nullptr;
    microkernels::Requantize how{
        corrections_ + channel, multipliers_ + channel, offset, range_.zero, range_.least, range_.most, sum_};
    if (residual_) {
      how.sum.others = static_cast<const int8_t*>(residual_->data) + first;
      how.sum.sign_mask = residual_->sign_mask;
    }
    how.set_sign_mask(out_->sign_mask);
    const int64_t lines = std::min<int64_t>(m_, height - at.line), across = std::min(run * m_, width - at.column);
    for (int64_t y = 0; y < lines; ++y, first += width * outputs_) {
      t.requantize(how, {outputs + y * kLineStep, kColumns, across, columns, outputs_},
                   static_cast<uint8_t*>(out_->data) + first);
      if (how.sum.others) how.sum.others += width * outputs_;
    }
  }

  const microkernels::Int8WinogradMicrokernels* loops_ =
      microkernels::int8_winograd_microkernels(microkernels::int8_microkernels());
  int m_ = 4;  // outputs of a tile along an axis; 0 if the sums might not be exact
  int64_t pad_h_ = 0, pad_w_ = 0, channels_ = 1, outputs_ = 1;
  int32_t zero_ = 0;
  microkernels::Int8Range range_{};
  microkernels::Int8Sum sum_{};
  int16_t* filters_ = nullptr;
  const float* offsets_ = nullptr;
  const float* multipliers_ = nullptr;
  int32_t* corrections_ = nullptr;
  int8_t* padding_ = nullptr;
  int64_t tile_rows_ = 0, tile_columns_ = 0;  // of an image
  int64_t tiles_ = 0, group_tiles_ = 1;       // of all images, and of a group
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
};

// Returns the fastest tile size for the largest sizes of the operands, or 0 if Winograd's algorithm is not faster than
// a GEMM.
int best_tile(const schema::Int8Gemm& op, Binder& binder) {
  const Window window = window_of(op.window());
  const View* const in = binder.any_input(op.input());
  const View* const out = binder.any_output(op.output());
  if (binder.error() != Error::Ok || op.row_scale().has_value() || out->dtype != ScalarType::Char || op.groups() != 1 ||
      in->rank != 4 || out->rank != 4) {
    return 0;
  }
  if (window.kernel_h != 3 || window.kernel_w != 3 || window.stride_h != 1 || window.stride_w != 1 ||
      window.dilation_h != 1 || window.dilation_w != 1) {
    return 0;
  }
  return microkernels::best_winograd(microkernels::int8_microkernels(),
                                     {in->sizes[3], out->sizes[3], out->sizes[0], out->sizes[1], out->sizes[2]});
}

}  // namespace

Result<Step*> make_int8_winograd(const schema::Int8Gemm& op, Binder& binder) {
  const int m = best_tile(op, binder);
  RL_TRY(binder.error());
  if (m == 0) return static_cast<Step*>(nullptr);
  Int8WinogradStep* step = binder.make<Int8WinogradStep>();
  if (step) RL_TRY(step->bind(op, binder, m));
  RL_TRY(binder.error());
  return step->is_exact() ? static_cast<Step*>(step) : nullptr;
}

}  // namespace rushlight::cpu
