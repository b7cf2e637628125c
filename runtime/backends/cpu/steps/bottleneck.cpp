// A convolution (expand), a depthwise convolution and a GEMM (project, which may be absent) in sequence. They are
// computed for a band of a few output rows at a time, so that the intermediate rows stay in the L2 cache. The rows of
// the first convolution are in a ring buffer, because the windows of the next band read some of them again.
#include <algorithm>

#include "backends/cpu/image.h"
#include "microkernels/conv/f32.h"
#include "microkernels/dwconv/f32.h"

namespace rushlight::cpu {

namespace {

// The maximum number of floats of the intermediate rows of a band, for processors with vectors of 16 floats and for
// others. They fill half of the L2 cache of a worker's core.
constexpr int64_t kLargeBandFloats = 128 * 1024, kBandFloats = 48 * 1024;

// Returns the number of outputs of a convolution along an axis.
int64_t size_after(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  return (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
}

// Returns rows [first, first + count) of all images.
Image rows_of(Image image, int64_t first, int64_t count) {
  image.data += first * image.strides[1];
  image.sizes[1] = count;
  return image;
}

// Returns one dense image.
Image dense(float* data, int64_t rows, int64_t columns, int64_t channels) {
  return {data, {1, rows, columns, channels}, {rows * columns * channels, columns * channels, channels, 1}};
}

class BottleneckStep final : public Step {
 public:
  Error bind(const schema::Bottleneck& op, Binder& binder) {
    in_ = binder.input(op.input());
    residual_ = binder.optional_input(op.residual());
    out_ = binder.output(op.output());
    has_product_ = op.has_project();
    bind_convolution(binder, op.expand(), op.expand_weight(), op.expand_bias(), expand_);
    depthwise_.kernels = &binder.kernels();
    depthwise_.window = window_of(op.depthwise().window());
    depthwise_.epilogue = binder.epilogue(op.depthwise().epilogue());
    depthwise_.channels = expand_.outputs;
    depthwise_.weights = binder.constant(op.depthwise_weight(),
                                         depthwise_.window.kernel_h * depthwise_.window.kernel_w * expand_.outputs);
    depthwise_.bias = binder.optional_constant(op.depthwise_bias(), expand_.outputs);
    if (has_product_) bind_convolution(binder, op.project(), op.project_weight(), op.project_bias(), project_);
    RL_TRY(binder.error());
    const Window& w = project_.window;
    const bool is_plain = !has_product_ || (w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 &&
                                            w.pad_h == 0 && w.pad_w == 0 && project_.channels == expand_.outputs);
    RL_REQUIRE(is_plain && (has_product_ || !residual_), InvalidProgram,
               "the convolutions of a bottleneck do not match");
    return Error::Ok;
  }

  Error prepare() override {
    RL_TRY(read_shapes());
    band_ = 1;
    const int64_t most = depthwise_.kernels->width >= 16 ? kLargeBandFloats : kBandFloats;
    while (band_ < out_image_.sizes[1] && between_floats(band_ + 1) <= most) ++band_;
    RL_TRY(prepare_expand());
    RL_TRY(depthwise_.prepare(dense(nullptr, height_, width_, expand_.outputs),
                              dense(nullptr, out_image_.sizes[1], out_image_.sizes[2], expand_.outputs)));
    if (has_product_) return prepare_project();
    RL_REQUIRE(out_image_.has_channels_last(), InvalidProgram, "the output of a bottleneck is not channels-last");
    return Error::Ok;
  }

  size_t scratch_floats(int64_t workers) const override { return static_cast<size_t>(workers * worker_floats()); }

  Error run(Run& run) override {
    in_image_.data = in_->floats();
    out_image_.data = out_->floats();
    if (residual_) residual_image_.data = residual_->floats();
    const int64_t height = out_image_.sizes[1], rows = out_image_.sizes[0] * height;
    const int64_t workers = work() / 2 < kSerialWork ? 1 : run.workers;
    Error errors[kMaxErrors] = {};
    for_workers(run.context, std::min<int64_t>(workers, kMaxErrors), rows,
                [&](int64_t worker, int64_t begin, int64_t end) {
                  float* scratch = run.scratch + worker * worker_floats();
                  for (int64_t i = begin; i < end && errors[worker] == Error::Ok;) {
                    const int64_t first = i % height, last = std::min(height, first + end - i);
                    errors[worker] = compute_rows(run.context, scratch, i / height, first, last);
                    i += last - first;
                  }
                });
    for (const Error error : errors) RL_TRY(error);
    return Error::Ok;
  }

  const char* name() const override { return "bottleneck"; }
  int64_t work() const override {
    const int64_t images = out_image_.sizes[0], outputs = out_image_.sizes[1] * out_image_.sizes[2];
    const Window &a = expand_.window, &b = depthwise_.window;
    const int64_t before = height_ * width_ * a.kernel_h * a.kernel_w * expand_.channels;
    const int64_t after = outputs * (b.kernel_h * b.kernel_w + (has_product_ ? project_.outputs : 0));
    return 2 * images * (before + after) * expand_.outputs;
  }

 private:
  static constexpr int64_t kMaxErrors = 64;  // one for each worker

  static void bind_convolution(Binder& binder, const schema::BottleneckConvolution& part, Operand weight, Operand bias,
                               microkernels::PackedConvolution& c) {
    c.kernels = &binder.kernels();
    c.window = window_of(part.window());
    c.channels = part.channels();
    c.outputs = part.outputs();
    c.epilogue = binder.epilogue(part.epilogue());
    c.weights = binder.packed_f32(weight, 1, c.window.kernel_h * c.window.kernel_w * c.channels, c.outputs);
    c.bias = binder.packed_bias(bias, c.groups, c.outputs);
    c.zeros = padding_pixel(binder, c.groups * c.channels);
  }

  // Sets the images of the operands and the sizes of the first convolution's result, and checks that the shapes match.
  Error read_shapes() {
    RL_ASSIGN(in_image_, image_of(*in_));
    RL_ASSIGN(out_image_, image_of(*out_));
    residual_image_ = {};
    if (residual_) {
      RL_ASSIGN(residual_image_, image_of(*residual_));
      RL_REQUIRE(std::equal(out_image_.sizes, out_image_.sizes + 4, residual_image_.sizes), InvalidProgram,
                 "the residual of a bottleneck does not have the shape of the output");
    }
    const Window& a = expand_.window;
    height_ = size_after(in_image_.sizes[1], a.kernel_h, a.stride_h, a.pad_h, a.dilation_h);
    width_ = size_after(in_image_.sizes[2], a.kernel_w, a.stride_w, a.pad_w, a.dilation_w);
    const int64_t outputs = has_product_ ? project_.outputs : expand_.outputs;
    // The depthwise convolution may have more padding at the bottom and on the right than the window needs, so that its
    // output is larger.
    RL_REQUIRE(height_ > 0 && width_ > 0 && in_image_.sizes[0] == out_image_.sizes[0] &&
                   in_image_.sizes[3] == expand_.channels && out_image_.sizes[3] == outputs,
               InvalidProgram, "the shapes or strides of the operands of a bottleneck do not match its weights");
    return Error::Ok;
  }

  // Prepares the first convolution for the largest number of rows at a time.
  Error prepare_expand() {
    const Image rows = dense(nullptr, std::min(source_rows(band_), height_), width_, expand_.outputs);
    const Image input = source(0, rows.sizes[1], nullptr);
    RL_TRY(expand_.prepare(input, rows, nullptr));
    own_floats_ = static_cast<int64_t>(expand_.scratch_floats(1));
    return Error::Ok;
  }

  // Prepares the GEMM for the largest number of rows at a time.
  Error prepare_project() {
    Image target = rows_of(out_image_, 0, band_), residual = rows_of(residual_image_, 0, band_);
    target.sizes[0] = residual.sizes[0] = 1;
    const Image rows = dense(nullptr, band_, out_image_.sizes[2], expand_.outputs);
    RL_TRY(project_.prepare(rows, target, residual_ ? &residual : nullptr));
    own_floats_ = std::max(own_floats_, static_cast<int64_t>(project_.scratch_floats(1)));
    return Error::Ok;
  }

  // Returns the number of rows of the first convolution that `rows` adjacent output rows read.
  int64_t source_rows(int64_t rows) const {
    const Window& b = depthwise_.window;
    return (rows - 1) * b.stride_h + (b.kernel_h - 1) * b.dilation_h + 1;
  }
  // The scratch memory of a worker: the ring buffer, the depthwise results of a band, and the scratch memory of the
  // convolutions.
  int64_t ring_floats(int64_t rows) const { return round_up(source_rows(rows) * width_ * expand_.outputs, 16) + 16; }
  int64_t band_floats(int64_t rows) const {
    return has_product_ ? round_up(rows * out_image_.sizes[2] * expand_.outputs, 16) + 16 : 0;
  }
  int64_t between_floats(int64_t rows) const { return ring_floats(rows) + band_floats(rows); }
  int64_t worker_floats() const { return between_floats(band_) + round_up(own_floats_, 16); }

  // Returns the input rows for `count` rows of the first convolution from `row` on. Sets `pad` to their top padding.
  Image source(int64_t row, int64_t count, int64_t* pad) const {
    const Window& a = expand_.window;
    const int64_t top = row * a.stride_h - a.pad_h, first = std::max<int64_t>(0, top);
    const int64_t end =
        std::min(in_image_.sizes[1], top + (count - 1) * a.stride_h + (a.kernel_h - 1) * a.dilation_h + 1);
    if (pad) *pad = first - top;
    Image image = rows_of(in_image_, std::min(first, in_image_.sizes[1]), std::max<int64_t>(0, end - first));
    image.sizes[0] = 1;
    return image;
  }

  // The scratch memory of a worker, and its copies of the convolutions, whose prepare() depends on the number of rows.
  struct Worker {
    float* ring;  // row i of the first convolution is row i % source_rows(band_)
    float* band;  // depthwise results
    float* own;   // scratch memory of the convolutions
    microkernels::PackedConvolution expand, project;
  };

  // Computes output rows [first, last) of an image.
  Error compute_rows(KernelRuntimeContext& context, float* scratch, int64_t image, int64_t first, int64_t last) const {
    float* const band = scratch + ring_floats(band_);
    Worker worker{scratch, band, band + band_floats(band_), expand_, project_};
    int64_t next = 0;  // the next row of the first convolution to compute
    for (int64_t y = first; y < last; y += band_) {
      const int64_t count = std::min(band_, last - y);
      const int64_t top = y * depthwise_.window.stride_h - depthwise_.window.pad_h;
      const int64_t end = std::min(height_, top + source_rows(count));
      next = std::max({next, top, int64_t{0}});
      RL_TRY(expand_rows(context, worker, image, next, end));
      next = std::max(next, end);
      RL_TRY(compute_band(context, worker, image, y, count));
    }
    return Error::Ok;
  }

  // Computes rows [first, end) of the first convolution into the ring buffer.
  Error expand_rows(KernelRuntimeContext& context, Worker& worker, int64_t image, int64_t first, int64_t end) const {
    const int64_t ring_rows = source_rows(band_), row_floats = width_ * expand_.outputs;
    while (first < end) {
      // The rows that are adjacent in the ring buffer.
      const int64_t at = first % ring_rows, adjacent = std::min(end - first, ring_rows - at);
      const Image target = dense(worker.ring + at * row_floats, adjacent, width_, expand_.outputs);
      const Image input = source(first, adjacent, &worker.expand.window.pad_h);
      RL_TRY(worker.expand.prepare(input, target, nullptr));
      const float* const from = input.data + image * in_image_.strides[0];
      worker.expand.run(context, 1, &from, target.data, nullptr, worker.own);
      first += adjacent;
    }
    return Error::Ok;
  }

  // Computes `count` output rows from y on. The ring buffer contains the rows that they read.
  Error compute_band(KernelRuntimeContext& context, Worker& worker, int64_t image, int64_t y, int64_t count) const {
    const int64_t ring_rows = source_rows(band_);
    Image target = rows_of(out_image_, y, count);
    target.data += image * out_image_.strides[0];
    target.sizes[0] = 1;
    if (!has_product_) {
      depthwise_.compute({y, count, worker.ring, ring_rows, target.data, target.strides[1], target.strides[2]});
      return Error::Ok;
    }
    const Image between = dense(worker.band, count, target.sizes[2], expand_.outputs);
    depthwise_.compute({y, count, worker.ring, ring_rows, worker.band, between.strides[1], between.strides[2]});
    Image residual = rows_of(residual_image_, y, count);
    residual.data += image * residual_image_.strides[0];
    residual.sizes[0] = 1;
    RL_TRY(worker.project.prepare(between, target, residual_ ? &residual : nullptr));
    const float* const from = worker.band;
    worker.project.run(context, 1, &from, target.data, residual_ ? residual.data : nullptr, worker.own);
    return Error::Ok;
  }

  microkernels::PackedConvolution expand_, project_;
  microkernels::PackedDepthwise depthwise_;
  bool has_product_ = false;
  const View* in_ = nullptr;
  const View* residual_ = nullptr;
  const View* out_ = nullptr;
  Image in_image_, residual_image_, out_image_;
  int64_t height_ = 0, width_ = 0;  // of the first convolution's result
  int64_t band_ = 1;                // output rows at a time
  int64_t own_floats_ = 0;          // scratch memory of the convolutions of a worker
};

}  // namespace

Result<Step*> make_step(const schema::Bottleneck& op, Binder& binder) { return binder.bind<BottleneckStep>(op); }

}  // namespace rushlight::cpu
