// 3 x 3 convolutions of int8 images with Winograd's algorithm, which needs fewer multiplications than a direct
// convolution. The results are exact.
#include <cstring>

#include "backends/cpu/int8.h"
#include "microkernels/winograd/int8.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kColumns = 64;             // output channels whose products are stored at a time
constexpr int64_t kInputBytes = 320 * 1024;  // bytes of transformed input that are stored at a time
constexpr int64_t kMaxTiles = 28;            // maximum number of output tiles that are stored at a time
constexpr int64_t kMaxRun = 4;  // maximum number of adjacent tiles that are transformed to outputs at a time
constexpr int kMaxPoints = 36, kMaxSide = 4;
constexpr int64_t kLineStep = kMaxRun * kMaxSide * kColumns;

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
    if (microkernels::largest_magnitude(t, weights, outputs_, channels_) > microkernels::max_winograd_magnitude(m))
      m_ = 0;
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
    count_ = out_->sizes[0] * tile_rows_ * tile_columns_;
    most_ = std::clamp<int64_t>(kInputBytes / (points() * row_step() * 2), 1, kMaxTiles);
    most_ = std::max<int64_t>(1, std::min(most_, count_));
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(workers * (input_floats() + sums_floats()));
  }

  Error run(Run& run) override {
    const int64_t workers = work() < kSerialWork ? 1 : run.workers;
    float* const scratch = run.scratch;
    std::memset(padding_, static_cast<uint8_t>(zero_) ^ in_->sign_mask, static_cast<size_t>(channels_));
    const int64_t columns = divide_up(outputs_, kColumns);
    if (workers == 1 || count_ >= workers * microkernels::int8_microkernels().rows) {
      for_workers(run.context, workers, count_, [&](int64_t worker, int64_t begin, int64_t end) {
        int16_t* const input = reinterpret_cast<int16_t*>(scratch + worker * (input_floats() + sums_floats()));
        int32_t* const sums = reinterpret_cast<int32_t*>(input) + input_floats();
        const int64_t blocks = divide_up(end - begin, most_);
        for (int64_t b = 0; b < blocks; ++b) {
          const int64_t first = begin + (end - begin) * b / blocks;
          const int64_t count = begin + (end - begin) * (b + 1) / blocks - first;
          for (int64_t i = 0; i < count; ++i) transform(first + i, input + i * row_step());
          for (int64_t c = 0; c < columns; ++c) convolve(first, count, c * kColumns, input, sums);
        }
      });
      return Error::Ok;
    }
    // If there are few tiles, the output channels are divided among the workers.
    int16_t* const input = reinterpret_cast<int16_t*>(scratch);
    const int64_t blocks = divide_up(count_, most_);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = count_ * b / blocks, count = count_ * (b + 1) / blocks - first;
      for_workers(run.context, workers, count, [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) transform(first + i, input + i * row_step());
      });
      for_workers(run.context, workers, columns, [&](int64_t worker, int64_t begin, int64_t end) {
        int32_t* const sums = reinterpret_cast<int32_t*>(scratch + input_floats() + worker * sums_floats());
        for (int64_t c = begin; c < end; ++c) convolve(first, count, c * kColumns, input, sums);
      });
    }
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
  struct Place {
    int64_t image, line, column;
  };
  Place place(int64_t tile) const {
    const int64_t line = tile / tile_columns_;
    return {line / tile_rows_, line % tile_rows_ * m_, tile % tile_columns_ * m_};
  }
  int64_t points() const { return (m_ + 2) * (m_ + 2); }
  // Rows are an odd number of cache lines apart, and the distance between points is not a power of two, so that they
  // use different cache sets.
  int64_t row_step() const { return (round_up(channels_, 32) / 32 | 1) * 32; }
  int64_t input_floats() const { return round_up(points() * most_ * row_step() / 2, 16); }
  int64_t sums_step() const { return most_ * kColumns + 16; }
  // Sums of all points, followed by the sums of the output pixels of a tile.
  int64_t sums_floats() const { return points() * sums_step() + kMaxSide * kLineStep; }

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
    loops_->input(m_, pixels, in_->sign_mask, channels_, to, most_ * row_step());
  }

  // Computes output channels from `first_column` on for `count` tiles from `first` on.
  void convolve(int64_t first, int64_t count, int64_t first_column, const int16_t* input, int32_t* sums) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t columns = std::min(kColumns, outputs_ - first_column), width = round_up(columns, t.lanes);
    const int64_t step = microkernels::column_step(t), tiles_down = divide_up(count, t.rows);
    for (int64_t point = 0; point < points(); ++point) {
      const int16_t* const left = input + point * most_ * row_step();
      for (int64_t column = 0; column < width; column += step) {
        const int vectors = static_cast<int>(std::min(step, width - column) / t.lanes);
        const int16_t* const right = filters_ + (first_column * points() + point * width + column) * channels_;
        for (int64_t i = 0, down = 0; down < tiles_down; ++down) {
          const int64_t rows = (count - i + tiles_down - down - 1) / (tiles_down - down);
          // Each tile prefetches a part of the next panel.
          const int64_t numbers = vectors * t.lanes * channels_;
          const int16_t* const next = right + numbers;
          for (int64_t j = numbers * down / tiles_down; j < numbers * (down + 1) / tiles_down; j += 32) {
            __builtin_prefetch(next + j, 0, 2);
          }
          loops_->gemm(static_cast<int>(rows), vectors,
                       {left + i * row_step(), row_step(), right, channels_ / 2,
                        sums + point * sums_step() + i * kColumns + column, kColumns, false});
          i += rows;
        }
      }
    }
    for (int64_t i = 0, run; i < count; i += run) {
      run = std::min({count - i, kMaxRun, tile_columns_ - (first + i) % tile_columns_});
      finish(first + i, run, first_column, columns, sums + i * kColumns, sums + points() * sums_step());
    }
  }

  // Transforms and requantizes `run` adjacent tiles of one row of tiles. Writes the sums of their output pixels to
  // `pixels`, line by line.
  void finish(int64_t tile, int64_t run, int64_t column, int64_t columns, const int32_t* products,
              int32_t* pixels) const {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const Place at = place(tile);
    const int64_t height = out_->sizes[1], width = out_->sizes[2];
    for (int64_t i = 0; i < run; ++i) {
      loops_->output(m_, products + i * kColumns, sums_step(), round_up(columns, t.lanes), pixels + i * m_ * kColumns,
                     kLineStep, kColumns);
    }
    microkernels::Requantize how{corrections_ + column,
                                 multipliers_ + column,
                                 offsets_ ? offsets_ + column : nullptr,
                                 range_.zero,
                                 range_.least,
                                 range_.most,
                                 sum_};
    if (residual_) {
      how.sum.sign_mask = residual_->sign_mask;
      how.sum.range.zero += out_->sign_mask, how.sum.range.least += out_->sign_mask,
          how.sum.range.most += out_->sign_mask;
    } else {
      how.zero += out_->sign_mask, how.least += out_->sign_mask, how.most += out_->sign_mask;
    }
    int64_t place = ((at.image * height + at.line) * width + at.column) * outputs_ + column;
    const int64_t lines = std::min<int64_t>(m_, height - at.line), across = std::min(run * m_, width - at.column);
    for (int64_t y = 0; y < lines; ++y, place += width * outputs_) {
      if (residual_) how.sum.others = static_cast<const int8_t*>(residual_->data) + place;
      t.requantize(how, {pixels + y * kLineStep, kColumns, across, columns, outputs_},
                   static_cast<uint8_t*>(out_->data) + place);
    }
  }

  const microkernels::Int8WinogradMicrokernels* loops_ =
      microkernels::int8_winograd_microkernels(microkernels::int8_microkernels());
  int m_ = 4;
  int64_t pad_h_ = 0, pad_w_ = 0, channels_ = 1, outputs_ = 1;
  int32_t zero_ = 0;
  microkernels::Int8Range range_{};
  microkernels::Int8Sum sum_{};
  int16_t* filters_ = nullptr;
  const float* offsets_ = nullptr;
  const float* multipliers_ = nullptr;
  int32_t* corrections_ = nullptr;
  int8_t* padding_ = nullptr;
  int64_t tile_rows_ = 0, tile_columns_ = 0, count_ = 0, most_ = 1;
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
