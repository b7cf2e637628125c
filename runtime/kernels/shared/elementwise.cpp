#include "kernels/shared/elementwise.h"

#include "kernels/shared/convert.h"
#include "kernels/shared/loop_nest.h"

namespace rushlight {
namespace {

constexpr int64_t kBlockBytes = 1024;
constexpr int64_t kGrain = 16384;  // minimum number of elements per thread

struct Operand {
  uint8_t* data;
  int64_t element;  // bytes
  int64_t stride;   // elements, in the innermost loop
  Convert convert;
  bool direct;  // the loop reads or writes the tensor itself
  bool narrows;
};

// A block of an operand, converted to the compute type.
struct alignas(64) Block {
  uint8_t bytes[kBlockBytes];
};

class Runner {
 public:
  Runner(const LoopNest& nest, Span<const Tensor> inputs, const Tensor& out, const ElementwiseFunction& function)
      : nest_(nest), function_(function), inputs_(static_cast<int>(inputs.size())) {
    for (int k = 0; k < inputs_; ++k) {
      const Tensor& input = inputs[static_cast<size_t>(k)];
      const ScalarType type = input.scalar_type();
      const bool keeps_precision = function.numbers_keep_precision && input.dim() == 0 && !is_integral(function.common);
      add(k, input, function.compute, load_function(type, function.compute),
          !keeps_precision && narrows(type, function.common));
    }
    add(inputs_, out, function.result, store_function(function.result, out.scalar_type()), false);
  }

  bool is_supported() const {
    for (int k = 0; k <= inputs_; ++k) {
      if (!operands_[k].convert) return false;
    }
    return true;
  }

  void run(int64_t begin, int64_t end) const {
    Block blocks[kMaxOperands];
    for_each_row(nest_, begin, end, [&](const int64_t* offsets, int64_t n) {
      for (int64_t first = 0; first < n; first += block_) {
        run_block(offsets, first, n - first < block_ ? n - first : block_, blocks);
      }
    });
  }

 private:
  void add(int k, const Tensor& tensor, ScalarType loop_type, Convert convert, bool narrows) {
    const int64_t stride = nest_.inner_stride(k);
    // A bool input is converted, because its byte may differ from 0 and 1, see element().
    const bool is_read_bool = k < inputs_ && loop_type == ScalarType::Bool;
    const bool direct = tensor.scalar_type() == loop_type && stride == 1 && !narrows && !is_read_bool;
    operands_[k] = {at(tensor, 0), static_cast<int64_t>(tensor.element_size()), stride, convert, direct, narrows};
    const int64_t fits = kBlockBytes / static_cast<int64_t>(element_size(loop_type));
    if (!direct && fits < block_) block_ = fits;
  }

  void run_block(const int64_t* offsets, int64_t first, int64_t n, Block* blocks) const {
    const void* in[kMaxOperands];
    for (int k = 0; k < inputs_; ++k) {
      const Operand& operand = operands_[k];
      const uint8_t* data = operand.data + (offsets[k] + first * operand.stride) * operand.element;
      if (!operand.direct) {
        operand.convert(data, operand.stride, blocks[k].bytes, 1, n);
        if (operand.narrows) narrow_to(function_.common, blocks[k].bytes, n);
        data = blocks[k].bytes;
      }
      in[k] = data;
    }
    const Operand& out = operands_[inputs_];
    uint8_t* data = out.data + (offsets[inputs_] + first * out.stride) * out.element;
    function_.loop(function_.function, in, out.direct ? data : blocks[inputs_].bytes, n);
    if (!out.direct) out.convert(blocks[inputs_].bytes, 1, data, out.stride, n);
  }

  const LoopNest& nest_;
  const ElementwiseFunction& function_;
  int inputs_;
  int64_t block_ = INT64_MAX;  // number of elements that are converted at a time
  Operand operands_[kMaxOperands];
};

}  // namespace

bool resize_to_broadcast(KernelRuntimeContext& context, Span<const Tensor> inputs, const Tensor& out) {
  Shape shape;
  for (const Tensor& input : inputs) {
    if (!broadcast_shape(context, shape, input.sizes())) return false;
  }
  return resize_out(context, out, shape.span());
}

void run_elementwise(KernelRuntimeContext& context, Span<const Tensor> inputs, const Tensor& out,
                     const ElementwiseFunction& function) {
  if (out.numel() == 0) return;
  LoopNest nest = LoopNest::over(out.sizes());
  for (const Tensor& input : inputs) nest.add(input);
  nest.add(out);
  nest.sort_by(static_cast<int>(inputs.size()));
  nest.collapse();
  const Runner runner(nest, inputs, out, function);
  RL_KERNEL_REQUIRE(context, runner.is_supported(), InvalidType, "arithmetic between these dtypes is not supported");
  context.parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) { runner.run(begin, end); });
}

}  // namespace rushlight
