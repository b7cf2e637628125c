// Sums, differences and products of int8 values of one shape.
#include "backends/xnnpack/int8_step.h"

namespace rushlight::xnnpack {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements that are worth a thread

// Whether the trailing dimensions of one are those of the other and its leading ones are 1 or absent.
bool repeats(const Shape& small, const Shape& large) {
  if (small.rank > large.rank) return false;
  uint32_t same = 0;
  while (same < small.rank && small.dims[small.rank - 1 - same] == large.dims[large.rank - 1 - same]) ++same;
  for (uint32_t i = same; i < small.rank; ++i) {
    if (small.dims[small.rank - 1 - i] != 1) return false;
  }
  return true;
}

class Int8BinaryStep final : public ThreadedStep {
 public:
  Int8BinaryStep(const Graph& graph, const Node& node, size_t threads)
      : ThreadedStep(node, threads),
        a_(graph.values[node.inputs[0]].quantization),
        b_(graph.values[node.inputs[1]].quantization),
        range_(range_of(graph, node)),
        scale_(graph.values[node.output].quantization.scale) {}

  Error setup(const Operand* operands, void*, pthreadpool*) override {
    const Shape &a = operands[node_.inputs[0]].shape, &b = operands[node_.inputs[1]].shape;
    RL_REQUIRE(repeats(a, b) || repeats(b, a), NotSupported, "a quantized %s broadcasts an inner dynamic dimension",
               name_of(node_.kind));
    a_data_ = static_cast<const int8_t*>(operands[node_.inputs[0]].data);
    b_data_ = static_cast<const int8_t*>(operands[node_.inputs[1]].data);
    out_ = static_cast<int8_t*>(operands[node_.output].data);
    count_ = operands[node_.output].numel();
    a_count_ = operands[node_.inputs[0]].numel();
    b_count_ = operands[node_.inputs[1]].numel();
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    // The smaller input repeats along the rows of the larger.
    const int64_t row = a_count_ < b_count_ ? a_count_ : b_count_, rows = count_ / row;
    if (rows == 1) {
      share(
          context, count_, [&](int64_t, int64_t begin, int64_t end) { combine(begin, begin, begin, end - begin); },
          kGrain);
      return Error::Ok;
    }
    share(
        context, rows,
        [&](int64_t, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            combine(a_count_ == row ? 0 : i * row, b_count_ == row ? 0 : i * row, i * row, row);
          }
        },
        (kGrain + row - 1) / row);
    return Error::Ok;
  }

 private:
  void combine(int64_t a, int64_t b, int64_t to, int64_t count) const {
    const microkernels::Int8Loops& loops = microkernels::int8_microkernels().loops;
    if (node_.kind == Kind::XNNMultiply) {
      loops.multiply(a_data_ + a, b_data_ + b, count, a_.zero, b_.zero, a_.scale * b_.scale / scale_, range_,
                     out_ + to);
      return;
    }
    const float a_factor = a_.scale / scale_;
    const float b_factor = (node_.kind == Kind::XNNSubtract ? -b_.scale : b_.scale) / scale_;
    const float offset = -(static_cast<float>(a_.zero) * a_factor + static_cast<float>(b_.zero) * b_factor);
    loops.add(a_data_ + a, b_data_ + b, count, a_factor, b_factor, offset, range_, out_ + to);
  }

  const Quantization a_, b_;
  const microkernels::Int8Range range_;
  const float scale_;
  const int8_t* a_data_ = nullptr;
  const int8_t* b_data_ = nullptr;
  int8_t* out_ = nullptr;
  int64_t count_ = 0, a_count_ = 0, b_count_ = 0;
};

}  // namespace

Error make_int8_binary_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                            Step** step) {
  const Value &a = graph.values[node.inputs[0]], &b = graph.values[node.inputs[1]];
  if (!is_byte(a) || !is_byte(b) || !is_byte(graph.values[node.output])) return Error::Ok;
  if (!repeats(a.shape, b.shape) && !repeats(b.shape, a.shape)) return Error::Ok;
  return make_in<Int8BinaryStep>(allocator, step, graph, node, threads);
}

}  // namespace rushlight::xnnpack
