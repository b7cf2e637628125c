// Maxima, clamps and averages over pictures of int8 values.
#include <algorithm>

#include "backends/xnnpack/int8_step.h"

namespace rushlight::xnnpack {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements that are worth a thread

class Int8ClampStep final : public ThreadedStep {
 public:
  Int8ClampStep(const Graph& graph, const Node& node, size_t threads)
      : ThreadedStep(node, threads), range_(range_of(graph, node)) {}

  Error setup(const Operand* operands, void*, pthreadpool*) override {
    in_ = static_cast<const int8_t*>(operands[node_.inputs[0]].data);
    out_ = static_cast<int8_t*>(operands[node_.output].data);
    count_ = operands[node_.output].numel();
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    share(
        context, count_,
        [&](int64_t, int64_t begin, int64_t end) {
          const int8_t* from = in_ + begin;
          microkernels::int8_microkernels().loops.maximum(&from, 1, end - begin, range_.least, range_.most,
                                                          out_ + begin);
        },
        kGrain);
    return Error::Ok;
  }

 private:
  const microkernels::Int8Range range_;
  const int8_t* in_ = nullptr;
  int8_t* out_ = nullptr;
  int64_t count_ = 0;
};

class Int8MaxPoolStep final : public ThreadedStep {
 public:
  Int8MaxPoolStep(const Graph& graph, const Node& node, size_t threads)
      : ThreadedStep(node, threads), range_(range_of(graph, node)) {}

  // Sources of a window, for every worker.
  size_t scratch_bytes(const Operand*) const override {
    return static_cast<size_t>(threads_) * taps() * sizeof(const int8_t*);
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    in_ = operands[node_.inputs[0]];
    out_ = operands[node_.output];
    sources_ = static_cast<const int8_t**>(scratch);
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    const PayloadWindow& w = node_.window;
    const int64_t height = in_.shape.dims[1], width = in_.shape.dims[2], channels = in_.shape.dims[3];
    const int64_t rows = out_.shape.dims[1], columns = out_.shape.dims[2];
    share(context, out_.shape.dims[0] * rows, [&](int64_t worker, int64_t begin, int64_t end) {
      const int8_t** sources = sources_ + static_cast<size_t>(worker) * taps();
      for (int64_t i = begin; i < end; ++i) {
        const int8_t* image = static_cast<const int8_t*>(in_.data) + i / rows * height * width * channels;
        int8_t* to = static_cast<int8_t*>(out_.data) + i * columns * channels;
        for (int64_t j = 0; j < columns; ++j, to += channels) {
          int64_t count = 0;
          for (int64_t ky = 0; ky < w.height; ++ky) {
            const int64_t y = i % rows * w.stride_height - w.top + ky * w.dilation_height;
            for (int64_t kx = 0; kx < w.width; ++kx) {
              const int64_t x = j * w.stride_width - w.left + kx * w.dilation_width;
              const bool is_inside = y >= 0 && y < height && x >= 0 && x < width;
              if (is_inside) sources[count++] = image + (y * width + x) * channels;
            }
          }
          microkernels::int8_microkernels().loops.maximum(sources, count, channels, range_.least, range_.most, to);
        }
      }
    });
    return Error::Ok;
  }

 private:
  size_t taps() const { return size_t{node_.window.height} * node_.window.width; }

  const microkernels::Int8Range range_;
  Operand in_, out_;
  const int8_t** sources_ = nullptr;
};

class Int8AverageStep final : public ThreadedStep {
 public:
  Int8AverageStep(const Graph& graph, const Node& node, size_t threads)
      : ThreadedStep(node, threads),
        range_(range_of(graph, node)),
        zero_(graph.values[node.inputs[0]].quantization.zero),
        ratio_(graph.values[node.inputs[0]].quantization.scale / graph.values[node.output].quantization.scale) {}

  // Sums, corrections and multipliers of the channels.
  size_t scratch_bytes(const Operand* operands) const override {
    return static_cast<size_t>(operands[node_.inputs[0]].shape.dims[3]) * 3 * sizeof(float);
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    in_ = operands[node_.inputs[0]];
    out_ = static_cast<uint8_t*>(operands[node_.output].data);
    scratch_ = scratch;
    return Error::Ok;
  }

  Error run(KernelRuntimeContext&) override {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t channels = in_.shape.dims[3], pixels = in_.shape.dims[1] * in_.shape.dims[2];
    int32_t* sums = static_cast<int32_t*>(scratch_);
    int32_t* corrections = sums + channels;
    float* multipliers = reinterpret_cast<float*>(corrections + channels);
    std::fill(corrections, corrections + channels, static_cast<int32_t>(-zero_ * pixels));
    std::fill(multipliers, multipliers + channels, ratio_ / static_cast<float>(pixels));
    for (int64_t image = 0; image < in_.shape.dims[0]; ++image) {
      std::fill(sums, sums + channels, 0);
      t.loops.add_rows(static_cast<const int8_t*>(in_.data) + image * pixels * channels, pixels, channels, channels,
                       sums);
      t.requantize({corrections, multipliers, nullptr, range_.zero, range_.least, range_.most},
                   {sums, channels, 1, channels, channels}, out_ + image * channels);
    }
    return Error::Ok;
  }

 private:
  const microkernels::Int8Range range_;
  const int32_t zero_;
  const float ratio_;
  Operand in_;
  uint8_t* out_ = nullptr;
  void* scratch_ = nullptr;
};

}  // namespace

Error make_int8_pool_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                          Step** step) {
  const Value &in = graph.values[node.inputs[0]], &out = graph.values[node.output];
  if (!is_byte(in) || !is_byte(out)) return Error::Ok;
  if (node.kind == Kind::XNNGlobalAvgPooling2d) {
    constexpr int64_t kMostPixels = INT32_MAX / 256;  // whose sum has 32 bits
    if (in.shape.dims[1] * in.shape.dims[2] > kMostPixels) return Error::Ok;
    return make_in<Int8AverageStep>(allocator, step, graph, node, threads);
  }
  if (in.quantization.scale != out.quantization.scale || in.quantization.zero != out.quantization.zero) {
    return Error::Ok;
  }
  if (node.kind == Kind::XNNClamp) return make_in<Int8ClampStep>(allocator, step, graph, node, threads);
  return make_in<Int8MaxPoolStep>(allocator, step, graph, node, threads);
}

}  // namespace rushlight::xnnpack
