// Convolutions as products with packed weights, of which matrix products with constants are the smallest: rows of the
// left operand are pixels, found by their addresses, so that nothing is copied or padded.
#include <algorithm>
#include <cstring>

#include "backends/cpu/image.h"
#include "backends/cpu/panels.h"

namespace rushlight::cpu {

namespace {

// Fewer channels than this are gathered into rows of whole windows.
constexpr int64_t kFewChannels = 8;
// Bytes of the left operand that a block of rows may span: it stays in the second level cache under all panels.
constexpr int64_t kBlockBytes = 192 * 1024;
constexpr int64_t kMostRows = 240;

// values: input [n, h, w, c], weights, bias, residual, output [n, h, w, o]; ints: window (8), groups, channels of a
// group, outputs of a group, then the epilogue.
class ProductStep final : public Step {
 public:
  Error bind(Binder& binder) {
    window_ = read_window(binder, 0);
    groups_ = binder.integer(8, 1, 1 << 20);
    channels_ = binder.integer(9, 1, 1 << 24);
    outputs_ = binder.integer(10, 1, 1 << 24);
    epilogue_ = binder.epilogue(11, 0);
    taps_ = window_.kernel_h * window_.kernel_w;
    tiles_ = &binder.tiles();
    depth_ = taps_ * channels_;
    in_ = binder.input(0);
    weights_ = binder.packed(1, groups_, depth_, outputs_);
    bias_ = binder.optional_constant(2, round_up(groups_ * outputs_, 64));
    residual_ = binder.optional_input(3);
    out_ = binder.output(4);
    zeros_ = binder.array<float>(static_cast<size_t>(channels_ + 16));
    RL_TRY(binder.error());
    std::memset(zeros_, 0, static_cast<size_t>(channels_ + 16) * sizeof(float));
    return Error::Ok;
  }

  Error prepare() override {
    const View& in = *in_;
    const View& out = *out_;
    RL_REQUIRE(in.rank == 4 && out.rank == 4 && in.sizes[0] == out.sizes[0] && in.sizes[3] == groups_ * channels_ &&
                   out.sizes[3] == groups_ * outputs_,
               InvalidProgram, "operands of a product do not fit its weights");
    RL_REQUIRE(out.is_uniform(0, 3, &out_step_) && (out.strides[3] == 1 || out.sizes[3] == 1), InvalidProgram,
               "the output of a product is not in rows");
    if (residual_) {
      RL_REQUIRE(residual_->rank == 4 && residual_->is_uniform(0, 3, &residual_step_) &&
                     (residual_->strides[3] == 1 || residual_->sizes[3] == 1),
                 InvalidProgram, "the residual of a product is not in rows");
      for (int i = 0; i < 4; ++i) {
        RL_REQUIRE(residual_->sizes[i] == out.sizes[i], InvalidProgram, "the residual of a product has another shape");
      }
    }
    rows_ = out.sizes[0] * out.sizes[1] * out.sizes[2];
    is_plain_ = taps_ == 1 && window_.stride_h == 1 && window_.stride_w == 1 && window_.pad_h == 0 &&
                window_.pad_w == 0 && in.sizes[1] == out.sizes[1] && in.sizes[2] == out.sizes[2] &&
                in.is_uniform(0, 3, &in_step_);
    gathers_ = (in.strides[3] != 1 && channels_ > 1) || (taps_ > 1 && channels_ < kFewChannels && groups_ == 1);
    RL_REQUIRE(!gathers_ || groups_ == 1, InvalidProgram, "a grouped convolution's channels are not contiguous");
    // Pixels of the input under a row of the output, each used by several taps.
    const int64_t row_floats = gathers_ || is_plain_ ? depth_ : channels_ * window_.stride_h * window_.stride_w;
    block_ = std::max<int64_t>(1, kBlockBytes / (std::max<int64_t>(1, row_floats) * 4));
    block_ = std::min(kMostRows, round_up(block_, tiles_->gemm_rows));
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    if (rows_ == 0) return Error::Ok;
    if (rows_ == 1 && is_plain_ && !gathers_) {
      run_row(run);
      return Error::Ok;
    }
    const int64_t panel = packing().panel;
    const int64_t panels = divide_up(outputs_, panel);
    const int64_t tiles = divide_up(rows_, tiles_->gemm_rows);
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    // The larger operand is divided, so that what all workers read is the smaller one.
    const bool by_columns = workers > 1 && (tiles < workers || (groups_ * outputs_ > rows_ && panels >= 2 * workers));
    if (by_columns) {
      for_workers(run.context, workers, panels, [&](int64_t worker, int64_t begin, int64_t end) {
        part(run.scratch + worker * worker_floats(), 0, rows_, begin, end);
      });
    } else {
      for_workers(run.context, workers, tiles, [&](int64_t worker, int64_t begin, int64_t end) {
        part(run.scratch + worker * worker_floats(), rows_ * begin / tiles, rows_ * end / tiles, 0, panels);
      });
    }
    return Error::Ok;
  }

  const char* name() const override { return taps_ > 1 ? "convolution" : "product"; }
  int64_t work() const override { return 2 * rows_ * depth_ * outputs_ * groups_; }

 private:
  Packing packing() const { return packing_of(*tiles_); }
  // Addresses of rows, then gathered rows.
  int64_t pointer_floats() const { return round_up(block_ * (gathers_ ? 1 : taps_) * 2, 16); }
  int64_t worker_floats() const { return pointer_floats() + (gathers_ ? round_up(block_ * depth_, 16) : 0); }

  void run_row(Run& run) {
    const int64_t panel = packing().panel;
    const int64_t width = packing().columns(outputs_);
    const int64_t panels = divide_up(outputs_, panel);
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    for (int64_t g = 0; g < groups_; ++g) {
      for_workers(run.context, workers, panels, [&](int64_t, int64_t begin, int64_t end) {
        const int64_t first = begin * panel, columns = std::min(end * panel, outputs_) - first;
        const int64_t at = g * outputs_ + first;
        Epilogue e = epilogue_;
        if (residual_) e.residual = residual_->floats() + at;
        tiles_->packed->row(in_->floats() + g * channels_, depth_, weights_ + g * depth_ * width + first * depth_,
                            bias_ ? bias_ + at : nullptr, out_->floats() + at, columns, e);
      });
    }
  }

  void part(float* scratch, int64_t m0, int64_t m1, int64_t p0, int64_t p1) {
    const float** rows = reinterpret_cast<const float**>(scratch);
    float* gathered = scratch + pointer_floats();
    Panels product{};
    product.tiles = tiles_;
    product.rows = rows;
    product.taps = gathers_ ? 1 : taps_;
    product.k = gathers_ ? depth_ : channels_;
    product.n = outputs_;
    product.c_step = out_step_;
    product.epilogue = epilogue_;
    product.epilogue.residual_step = residual_step_;
    const int64_t width = packing().columns(outputs_);
    for (int64_t m = m0; m < m1; m += block_) {
      const int64_t count = std::min(block_, m1 - m);
      product.m = product.row_step = count;
      for (int64_t g = 0; g < groups_; ++g) {
        if (gathers_) {
          gather(m, count, gathered);
          for (int64_t i = 0; i < count; ++i) rows[i] = gathered + i * depth_;
        } else {
          address(m, count, g * channels_, rows);
        }
        product.b = weights_ + g * depth_ * width;
        product.bias = bias_ ? bias_ + g * outputs_ : nullptr;
        product.c = out_->floats() + m * out_step_ + g * outputs_;
        if (residual_) product.epilogue.residual = residual_->floats() + m * residual_step_ + g * outputs_;
        multiply(product, p0, p1);
      }
    }
  }

  // rows[tap * count + i]: where the pixel that row m + i has under the tap begins, or zeros.
  void address(int64_t m, int64_t count, int64_t channel, const float** rows) const {
    const View& in = *in_;
    const float* base = in.floats() + channel;
    if (is_plain_) {
      for (int64_t i = 0; i < count; ++i) rows[i] = base + (m + i) * in_step_;
      return;
    }
    const int64_t height = out_->sizes[1], width = out_->sizes[2];
    for (int64_t i = 0; i < count;) {
      const int64_t x0 = (m + i) % width, line = (m + i) / width;
      const int64_t run = std::min(width - x0, count - i);
      const float* image = base + line / height * in.strides[0];
      for (int64_t ky = 0; ky < window_.kernel_h; ++ky) {
        const int64_t y = line % height * window_.stride_h - window_.pad_h + ky * window_.dilation_h;
        for (int64_t kx = 0; kx < window_.kernel_w; ++kx) {
          const float** to = rows + (ky * window_.kernel_w + kx) * count + i;
          if (y < 0 || y >= in.sizes[1]) {
            for (int64_t j = 0; j < run; ++j) to[j] = zeros_;
            continue;
          }
          const float* source = image + y * in.strides[1];
          int64_t x = x0 * window_.stride_w - window_.pad_w + kx * window_.dilation_w;
          for (int64_t j = 0; j < run; ++j, x += window_.stride_w) {
            to[j] = x < 0 || x >= in.sizes[2] ? zeros_ : source + x * in.strides[2];
          }
        }
      }
      i += run;
    }
  }

  // Rows of whole windows.
  void gather(int64_t m, int64_t count, float* to) const {
    const View& in = *in_;
    const int64_t height = out_->sizes[1], width = out_->sizes[2];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t line = (m + i) / width;
      const float* image = in.floats() + line / height * in.strides[0];
      const int64_t y0 = line % height * window_.stride_h - window_.pad_h;
      const int64_t x0 = (m + i) % width * window_.stride_w - window_.pad_w;
      for (int64_t ky = 0; ky < window_.kernel_h; ++ky) {
        const int64_t y = y0 + ky * window_.dilation_h;
        const bool has_line = y >= 0 && y < in.sizes[1];
        for (int64_t kx = 0; kx < window_.kernel_w; ++kx, to += channels_) {
          const int64_t x = x0 + kx * window_.dilation_w;
          if (!has_line || x < 0 || x >= in.sizes[2]) {
            for (int64_t c = 0; c < channels_; ++c) to[c] = 0.0f;
            continue;
          }
          const float* pixel = image + y * in.strides[1] + x * in.strides[2];
          for (int64_t c = 0; c < channels_; ++c) to[c] = pixel[c * in.strides[3]];
        }
      }
    }
  }

  Window window_{};
  int64_t groups_ = 1, channels_ = 0, outputs_ = 0, taps_ = 1, depth_ = 0;
  tiles::Epilogue epilogue_;
  const tiles::Tiles* tiles_ = nullptr;
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
  const float* weights_ = nullptr;
  const float* bias_ = nullptr;
  float* zeros_ = nullptr;
  int64_t rows_ = 0, block_ = 1;
  int64_t in_step_ = 0, out_step_ = 0, residual_step_ = 0;
  bool is_plain_ = false, gathers_ = false;
};

}  // namespace

Result<Step*> make_product(Binder& binder) {
  ProductStep* step = binder.make<ProductStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
