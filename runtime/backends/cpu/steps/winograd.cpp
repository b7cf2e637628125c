// 3 x 3 convolutions at stride 1 by F(2 x 2) or F(4 x 4).
#include <algorithm>

#include "backends/cpu/image.h"
#include "backends/cpu/panels.h"

namespace rushlight::cpu {

namespace {

// Floats of transformed input and products that a worker holds at a time.
constexpr int64_t kBlockFloats = 96 * 1024;

// values: input [n, h, w, c], weights, bias, residual, output [n, h, w, o]; ints: m (2 or 4), padding above and left,
// channels, outputs, then the epilogue. Weights are (m + 2)^2 packed matrices [channels, outputs].
class WinogradStep final : public Step {
 public:
  Error bind(Binder& binder) {
    m_ = binder.integer(0, 2, 4);
    pad_h_ = binder.integer(1, 0, 2);
    pad_w_ = binder.integer(2, 0, 2);
    channels_ = binder.integer(3, 1, 1 << 24);
    outputs_ = binder.integer(4, 1, 1 << 24);
    epilogue_ = binder.epilogue(5, 0);
    RL_REQUIRE(m_ != 3, InvalidProgram, "a Winograd convolution has tiles of 3");
    tiles_ = &binder.tiles();
    points_ = (m_ + 2) * (m_ + 2);
    in_ = binder.input(0);
    weights_ = binder.packed(1, points_, channels_, outputs_);
    bias_ = binder.optional_constant(2, round_up(outputs_, 64));
    residual_ = binder.optional_input(3);
    out_ = binder.output(4);
    return binder.error();
  }

  Error prepare() override {
    const View& in = *in_;
    const View& out = *out_;
    RL_REQUIRE(in.rank == 4 && out.rank == 4 && in.sizes[0] == out.sizes[0] && in.sizes[3] == channels_ &&
                   out.sizes[3] == outputs_ && (channels_ == 1 || in.strides[3] == 1) &&
                   (outputs_ == 1 || out.strides[3] == 1),
               InvalidProgram, "operands of a Winograd convolution do not fit its weights");
    if (residual_) {
      for (int i = 0; i < 4; ++i) {
        RL_REQUIRE(residual_->rank == 4 && residual_->sizes[i] == out.sizes[i] &&
                       (residual_->sizes[i] == 1 || residual_->strides[i] == out.strides[i]),
                   InvalidProgram, "the residual of a Winograd convolution lies in memory as its output does not");
      }
    }
    tile_rows_ = divide_up(out.sizes[1], m_);
    tile_columns_ = divide_up(out.sizes[2], m_);
    count_ = out.sizes[0] * tile_rows_ * tile_columns_;
    const int64_t tile_floats = points_ * (channels_ + outputs_);
    most_ = round_up(std::max<int64_t>(1, kBlockFloats / tile_floats), tiles_->gemm_rows);
    most_ = std::max<int64_t>(1, std::min(most_, count_));
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override {
    return static_cast<size_t>(
        workers * (input_floats(most_) + product_floats(most_) + pointer_floats(std::min(most_ * workers, count_))));
  }

  Error run(Run& run) override {
    if (count_ == 0) return Error::Ok;
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    if (workers > 1 && count_ < 2 * workers * tiles_->gemm_rows) {
      run_together(run, workers);
      return Error::Ok;
    }
    for_workers(run.context, workers, count_, [&](int64_t worker, int64_t begin, int64_t end) {
      float* input = run.scratch + worker * (input_floats(most_) + product_floats(most_) + pointer_floats(most_));
      float* products = input + input_floats(most_);
      const float** rows = reinterpret_cast<const float**>(products + product_floats(most_));
      const int64_t blocks = divide_up(end - begin, most_);
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t first = begin + (end - begin) * b / blocks;
        const int64_t count = begin + (end - begin) * (b + 1) / blocks - first;
        for (int64_t i = 0; i < count; ++i) transform(first, i, count, input);
        for (int64_t point = 0; point < points_; ++point) product(point, count, input, products, rows);
        for (int64_t i = 0; i < count; ++i) finish(first, i, count, products);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return m_ == 4 ? "Winograd convolution F4" : "Winograd convolution F2"; }
  int64_t work() const override { return 2 * out_->numel() * channels_ * 9; }

 private:
  // Rows of one point lie together; no power of two apart from point to point.
  int64_t input_step(int64_t count) const { return count * channels_ + 16; }
  int64_t product_step(int64_t count) const { return count * outputs_ + 16; }
  int64_t input_floats(int64_t count) const { return round_up(points_ * input_step(count), 16); }
  int64_t product_floats(int64_t count) const { return round_up(points_ * product_step(count), 16); }
  static int64_t pointer_floats(int64_t count) { return round_up(2 * count, 16); }

  // Few tiles and so weights that outweigh them: workers share the points.
  void run_together(Run& run, int64_t workers) {
    const int64_t most = std::min(most_ * workers, count_);
    float* input = run.scratch;
    float* products = input + input_floats(most);
    float* pointers = products + product_floats(most);
    for (int64_t first = 0; first < count_; first += most) {
      const int64_t count = std::min(most, count_ - first);
      for_workers(run.context, workers, count, [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) transform(first, i, count, input);
      });
      for_workers(run.context, workers, points_, [&](int64_t worker, int64_t begin, int64_t end) {
        const float** rows = reinterpret_cast<const float**>(pointers + worker * pointer_floats(most));
        for (int64_t point = begin; point < end; ++point) product(point, count, input, products, rows);
      });
      for_workers(run.context, workers, count, [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) finish(first, i, count, products);
      });
    }
  }

  struct Place {
    int64_t image, line, column;
  };
  Place place(int64_t tile) const {
    const int64_t line = tile / tile_columns_;
    return {line / tile_rows_, line % tile_rows_ * m_, tile % tile_columns_ * m_};
  }

  void transform(int64_t first, int64_t index, int64_t count, float* input) const {
    const Place at = place(first + index);
    const View& in = *in_;
    const int64_t line = at.line - pad_h_, column = at.column - pad_w_;
    tiles::WinogradInput tile{};
    tile.from = in.floats() + at.image * in.strides[0] + line * in.strides[1] + column * in.strides[2];
    tile.line_step = in.strides[1];
    tile.column_step = in.strides[2];
    tile.first_line = -line;
    tile.lines = in.sizes[1] - line;
    tile.first_column = -column;
    tile.columns = in.sizes[2] - column;
    tile.channels = channels_;
    tile.to = input + index * channels_;
    tile.to_step = input_step(count);
    (m_ == 4 ? tiles_->packed->winograd4_input : tiles_->packed->winograd2_input)(tile);
  }

  void product(int64_t point, int64_t count, const float* input, float* products, const float** rows) const {
    const float* from = input + point * input_step(count);
    for (int64_t i = 0; i < count; ++i) rows[i] = from + i * channels_;
    const Packing packing = packing_of(*tiles_);
    Panels p{};
    p.tiles = tiles_;
    p.rows = rows;
    p.row_step = p.m = count;
    p.taps = 1;
    p.k = channels_;
    p.n = outputs_;
    p.b = weights_ + point * channels_ * packing.columns(outputs_);
    p.c = products + point * product_step(count);
    p.c_step = outputs_;
    multiply(p, 0, divide_up(outputs_, packing.panel));
  }

  void finish(int64_t first, int64_t index, int64_t count, const float* products) const {
    const Place at = place(first + index);
    const View& out = *out_;
    const int64_t offset = at.image * out.strides[0] + at.line * out.strides[1] + at.column * out.strides[2];
    tiles::WinogradOutput tile{};
    tile.from = products + index * outputs_;
    tile.from_step = product_step(count);
    tile.channels = outputs_;
    tile.bias = bias_;
    tile.to = out.floats() + offset;
    tile.line_step = out.strides[1];
    tile.column_step = out.strides[2];
    tile.lines = out.sizes[1] - at.line;
    tile.columns = out.sizes[2] - at.column;
    tile.lines = std::min(tile.lines, m_);
    tile.columns = std::min(tile.columns, m_);
    tile.epilogue = epilogue_;
    if (residual_) tile.epilogue.residual = residual_->floats() + offset;
    (m_ == 4 ? tiles_->packed->winograd4_output : tiles_->packed->winograd2_output)(tile);
  }

  int64_t m_ = 4, pad_h_ = 0, pad_w_ = 0, channels_ = 0, outputs_ = 0, points_ = 0;
  tiles::Epilogue epilogue_;
  const tiles::Tiles* tiles_ = nullptr;
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  int64_t tile_rows_ = 0, tile_columns_ = 0, count_ = 0, most_ = 1;
};

}  // namespace

Result<Step*> make_winograd(Binder& binder) {
  WinogradStep* step = binder.make<WinogradStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
