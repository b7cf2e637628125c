// Sums, differences and products of two int8 values; leading dimensions of one of them may be broadcast.
#include "backends/xnnpack/int8_step.h"
#include "microkernels/elementwise/int8.h"

namespace rushlight::xnnpack {
namespace {

constexpr int64_t kGrain = 1 << 14;  // fewest elements for each thread

// Whether the dimensions of `small` are the last dimensions of `large`, apart from leading dimensions of size 1.
bool is_suffix(const Shape& small, const Shape& large) {
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
  Int8BinaryStep(const Node& node, size_t threads, const microkernels::Int8Binary& binary)
      : ThreadedStep(node, threads), binary_(binary) {}

  Error setup(const Operand* operands, void*, pthreadpool*) override {
    const Shape &a = operands[node_.inputs[0]].shape, &b = operands[node_.inputs[1]].shape;
    RL_REQUIRE(is_suffix(a, b) || is_suffix(b, a), NotSupported,
               "a quantized %s broadcasts an inner dimension of dynamic size; only leading dimensions are supported",
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
    // The smaller input is repeated for each row of the larger input.
    const int64_t row = a_count_ < b_count_ ? a_count_ : b_count_, rows = count_ / row;
    if (rows == 1) {
      share(
          context, count_,
          [&](int64_t, int64_t begin, int64_t end) {
            binary_.run(a_data_ + begin, b_data_ + begin, end - begin, out_ + begin);
          },
          kGrain);
      return Error::Ok;
    }
    share(
        context, rows,
        [&](int64_t, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            binary_.run(a_data_ + (a_count_ == row ? 0 : i * row), b_data_ + (b_count_ == row ? 0 : i * row), row,
                        out_ + i * row);
          }
        },
        (kGrain + row - 1) / row);
    return Error::Ok;
  }

 private:
  const microkernels::Int8Binary binary_;
  const int8_t* a_data_ = nullptr;
  const int8_t* b_data_ = nullptr;
  int8_t* out_ = nullptr;
  int64_t count_ = 0, a_count_ = 0, b_count_ = 0;
};

// Returns the parameters of a quantized sum, difference or product.
microkernels::Int8Binary binary_of(const Graph& graph, const Node& node) {
  const Quantization& a = graph.values[node.inputs[0]].quantization;
  const Quantization& b = graph.values[node.inputs[1]].quantization;
  const float scale = graph.values[node.output].quantization.scale;
  microkernels::Int8Binary binary;
  binary.multiplies = node.kind == Kind::XNNMultiply;
  binary.a_zero = a.zero, binary.b_zero = b.zero;
  binary.a_factor = binary.multiplies ? a.scale * b.scale / scale : a.scale / scale;
  binary.b_factor = (node.kind == Kind::XNNSubtract ? -b.scale : b.scale) / scale;
  binary.range = range_of(graph, node);
  return binary;
}

}  // namespace

Error make_int8_binary_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator,
                            Step** step) {
  const Value &a = graph.values[node.inputs[0]], &b = graph.values[node.inputs[1]];
  if (!is_plain_int8(a) || !is_plain_int8(b) || !is_plain_int8(graph.values[node.output])) return Error::Ok;
  if (!is_suffix(a.shape, b.shape) && !is_suffix(b.shape, a.shape)) return Error::Ok;
  return make_in<Int8BinaryStep>(allocator, step, node, threads, binary_of(graph, node));
}

}  // namespace rushlight::xnnpack
