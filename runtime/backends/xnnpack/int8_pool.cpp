// Max pooling, clamps and average pooling of int8 images.
#include "backends/xnnpack/int8_step.h"
#include "microkernels/pool/int8.h"
#include "microkernels/reduce/int8.h"

namespace rushlight::xnnpack {
namespace {

constexpr int64_t kGrain = 1 << 14;  // fewest elements for each thread

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
  Int8MaxPoolStep(const Node& node, size_t threads, const microkernels::Int8Pool2d& pool)
      : ThreadedStep(node, threads), pool_(pool) {}

  size_t scratch_bytes(const Operand* operands) const override {
    microkernels::Int8Pool2d pool = pool_;
    prepare(operands, &pool);
    return static_cast<size_t>(threads_) * pool.worker_bytes();
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    prepare(operands, &pool_);
    in_ = static_cast<const int8_t*>(operands[node_.inputs[0]].data);
    out_ = static_cast<int8_t*>(operands[node_.output].data);
    scratch_ = static_cast<uint8_t*>(scratch);
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    share(context, pool_.rows(), [&](int64_t worker, int64_t begin, int64_t end) {
      pool_.run(in_, out_, begin, end, scratch_ + static_cast<size_t>(worker) * pool_.worker_bytes());
    });
    return Error::Ok;
  }

 private:
  void prepare(const Operand* operands, microkernels::Int8Pool2d* pool) const {
    pool->prepare(operands[node_.inputs[0]].shape.dims, operands[node_.output].shape.dims);
  }

  microkernels::Int8Pool2d pool_;
  const int8_t* in_ = nullptr;
  int8_t* out_ = nullptr;
  uint8_t* scratch_ = nullptr;
};

class Int8AverageStep final : public ThreadedStep {
 public:
  Int8AverageStep(const Graph& graph, const Node& node, size_t threads) : ThreadedStep(node, threads) {
    const Quantization& in = graph.values[node.inputs[0]].quantization;
    mean_.zero = in.zero;
    mean_.range = range_of(graph, node);
    mean_.factor = in.scale / graph.values[node.output].quantization.scale;
  }

  size_t scratch_bytes(const Operand* operands) const override {
    microkernels::Int8Mean mean = mean_;
    mean.channels = operands[node_.inputs[0]].shape.dims[3];
    return static_cast<size_t>(threads_) * mean.worker_bytes();
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    const Shape& in = operands[node_.inputs[0]].shape;
    mean_.outer = in.dims[0], mean_.count = in.dims[1] * in.dims[2], mean_.channels = in.dims[3];
    in_ = static_cast<const int8_t*>(operands[node_.inputs[0]].data);
    out_ = static_cast<uint8_t*>(operands[node_.output].data);
    scratch_ = static_cast<uint8_t*>(scratch);
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    const bool is_small = mean_.outer * mean_.count * mean_.channels < kGrain;
    mean_.divide_for(is_small ? 1 : workers(context));
    share(
        context, mean_.parts(),
        [&](int64_t worker, int64_t begin, int64_t end) {
          mean_.run(in_, out_, begin, end, scratch_ + static_cast<size_t>(worker) * mean_.worker_bytes());
        },
        is_small ? mean_.parts() : 1);
    return Error::Ok;
  }

 private:
  microkernels::Int8Mean mean_;
  const int8_t* in_ = nullptr;
  uint8_t* out_ = nullptr;
  uint8_t* scratch_ = nullptr;
};

// Returns the parameters of a max pooling. The caller sets the sizes of the image.
microkernels::Int8Pool2d max_pool_of(const Graph& graph, const Node& node) {
  const PayloadWindow& w = node.window;
  microkernels::Int8Pool2d pool;
  pool.is_maximum = true;
  pool.range = range_of(graph, node);
  pool.window = {w.height, w.width, w.stride_height,   w.stride_width,
                 w.top,    w.left,  w.dilation_height, w.dilation_width};
  return pool;
}

}  // namespace

Error make_int8_pool_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                          Step** step) {
  const Value &in = graph.values[node.inputs[0]], &out = graph.values[node.output];
  if (!is_plain_int8(in) || !is_plain_int8(out)) return Error::Ok;
  if (node.kind == Kind::XNNGlobalAvgPooling2d) {
    if (in.shape.dims[1] * in.shape.dims[2] > microkernels::Int8Mean::kMaxCount) return Error::Ok;
    return make_in<Int8AverageStep>(allocator, step, graph, node, threads);
  }
  if (in.quantization.scale != out.quantization.scale || in.quantization.zero != out.quantization.zero) {
    return Error::Ok;
  }
  if (node.kind == Kind::XNNClamp) return make_in<Int8ClampStep>(allocator, step, graph, node, threads);
  const microkernels::Int8Pool2d pool = max_pool_of(graph, node);
  if (pool.taps() > microkernels::Int8Pool2d::kMaxTaps) return Error::Ok;
  return make_in<Int8MaxPoolStep>(allocator, step, node, threads, pool);
}

}  // namespace rushlight::xnnpack
