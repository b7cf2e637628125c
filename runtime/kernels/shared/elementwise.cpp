#include "kernels/shared/elementwise.h"

#include <algorithm>

#include "kernels/shared/build_mode.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/short_rows.h"

namespace rushlight {
namespace {

constexpr int64_t kBlockBytes = 1024;
constexpr int64_t kGrain = 16384;  // minimum number of elements per thread

// Whether short rows are joined to blocks. Otherwise they are computed one at a time.
constexpr bool kJoinsShortRows = !kIsForSize;

struct Operand {
  uint8_t* data;
  int64_t element;  // bytes
  int64_t stride;   // elements, in the innermost loop
  Convert convert;
  bool same;    // the loop reads or writes elements of the tensor's dtype
  bool direct;  // the loop reads or writes the tensor itself
  bool narrows;
};

// A block of an operand, converted to the compute type.
struct alignas(64) Block {
  uint8_t bytes[kBlockBytes + ShortRows::kSlackBytes];
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

  // Returns the number of elements in a block of short rows.
  int64_t short_block() const { return short_block_; }

  // Computes the rows from `begin` to `end`.
  void run_short_rows(const ShortRows& rows, int64_t begin, int64_t end) const {
    Block blocks[kMaxOperands], stored;
    const void* in[kMaxOperands];
    for (int64_t first = begin; first < end; first += rows.rows_at_once()) {
      const int64_t count = std::min(rows.rows_at_once(), end - first), n = count * rows.row_size();
      for (int k = 0; k < inputs_; ++k) {
        const Operand& operand = operands_[k];
        uint8_t* const block = blocks[k].bytes;
        in[k] = rows.read(k, operand.data, operand.element, first, count, operand.same ? block : stored.bytes);
        if (!operand.same) in[k] = converted(operand, static_cast<const uint8_t*>(in[k]), 1, n, block);
      }
      finish(in, operands_[inputs_].data + first * rows.row_size() * operands_[inputs_].element, n, blocks);
    }
  }

  // Computes the elements from `begin` to `end`.
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
    const bool same = tensor.scalar_type() == loop_type && !narrows && !is_read_bool;
    const bool direct = same && stride == 1;
    const auto element = static_cast<int64_t>(tensor.element_size());
    operands_[k] = {at(tensor, 0), element, stride, convert, same, direct, narrows};
    const auto loop_element = static_cast<int64_t>(element_size(loop_type));
    if (!direct) block_ = std::min(block_, kBlockBytes / loop_element);
    short_block_ = std::min(short_block_, kBlockBytes / std::max(element, loop_element));
  }

  void run_block(const int64_t* offsets, int64_t first, int64_t n, Block* blocks) const {
    const void* in[kMaxOperands];
    for (int k = 0; k < inputs_; ++k) {
      const Operand& operand = operands_[k];
      const uint8_t* data = operand.data + (offsets[k] + first * operand.stride) * operand.element;
      in[k] = operand.direct ? data : converted(operand, data, operand.stride, n, blocks[k].bytes);
    }
    const Operand& out = operands_[inputs_];
    finish(in, out.data + (offsets[inputs_] + first * out.stride) * out.element, n, blocks);
  }

  // Writes n elements of an operand to `block` in the compute type, and returns `block`.
  const uint8_t* converted(const Operand& operand, const uint8_t* data, int64_t stride, int64_t n,
                           uint8_t* block) const {
    operand.convert(data, stride, block, 1, n);
    if (operand.narrows) narrow_to(function_.common, block, n);
    return block;
  }

  // Computes n elements of the output, which is at `data`.
  void finish(const void* const* in, uint8_t* data, int64_t n, Block* blocks) const {
    const Operand& out = operands_[inputs_];
    function_.loop(function_.function, in, out.direct ? data : blocks[inputs_].bytes, n);
    if (!out.direct) out.convert(blocks[inputs_].bytes, 1, data, out.stride, n);
  }

  const LoopNest& nest_;
  const ElementwiseFunction& function_;
  int inputs_;
  int64_t block_ = INT64_MAX;  // number of elements that are converted at a time
  int64_t short_block_ = INT64_MAX;
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
  ShortRows rows;
  if (kJoinsShortRows && rows.prepare(nest, static_cast<int>(inputs.size()), runner.short_block())) {
    context.parallel_for(0, rows.rows(), kGrain / rows.row_size(),
                         [&](int64_t begin, int64_t end) { runner.run_short_rows(rows, begin, end); });
    return;
  }
  context.parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) { runner.run(begin, end); });
}

template <typename C>
C number_in(const Scalar& number, ScalarType type) {
  if constexpr (is_complex_type<C>) {
    return C(number.to<typename C::value_type>());
  } else if constexpr (std::is_same_v<C, int64_t>) {
    switch (type) {
      case ScalarType::Bool:
        return number.to<bool>();
      case ScalarType::Byte:
        return static_cast<uint8_t>(number.to<int64_t>());
      case ScalarType::Char:
        return static_cast<int8_t>(number.to<int64_t>());
      case ScalarType::Short:
        return static_cast<int16_t>(number.to<int64_t>());
      case ScalarType::Int:
        return static_cast<int32_t>(number.to<int64_t>());
      default:
        return number.to<int64_t>();
    }
  } else {
    const C value = number.to<C>();
    if (type == ScalarType::Half) return static_cast<C>(static_cast<float>(Half(static_cast<float>(value))));
    if (type == ScalarType::BFloat16) return static_cast<C>(static_cast<float>(BFloat16(static_cast<float>(value))));
    return value;
  }
}

template int64_t number_in<int64_t>(const Scalar& number, ScalarType type);
template float number_in<float>(const Scalar& number, ScalarType type);
template double number_in<double>(const Scalar& number, ScalarType type);
template ComplexFloat number_in<ComplexFloat>(const Scalar& number, ScalarType type);
template ComplexDouble number_in<ComplexDouble>(const Scalar& number, ScalarType type);

}  // namespace rushlight
