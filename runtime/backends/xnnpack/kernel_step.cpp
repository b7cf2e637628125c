#include <string_view>

#include "backends/xnnpack/step.h"
#include "rushlight/core/kernel.h"

namespace rushlight::xnnpack {
namespace {

// The ways to interpret a value's memory as a tensor.
enum class View : uint8_t {
  Plain,
  Image,       // [n, h, w, c] as n, c, h, w
  Depthwise,   // filter [1, h, w, c] as c, 1, h, w
  Transposed,  // filter [o, h, w, i] as i, o, h, w
  Rows,        // [..., k] as rows, k
  Batches,     // [..., m, k] as batches, m, k
};

constexpr uint32_t kMaxArguments = 12;  // of a kernel call
constexpr uint32_t kMaxTensors = 5, kMaxLists = 5;
constexpr uint32_t kMaxListItems = 16;  // of all lists of a call: two for each dimension of a padded tensor

// Owns the arguments of one kernel call, in the order in which they are added.
class Arguments {
 public:
  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void clear() { count_ = tensors_ = lists_ = numbers_ = 0; }
  EValue* const* data() { return pointers_; }

  void none() { add(EValue()); }
  void number(int64_t value) { add(EValue(value)); }
  void number(double value) { add(EValue(value)); }
  void flag(bool value) { add(EValue(value)); }
  void text(const std::string_view* value) { add(EValue(value)); }

  void list(const int64_t* values, uint32_t size) {
    for (uint32_t i = 0; i < size; ++i) {
      list_values_[numbers_ + i] = EValue(values[i]);
      list_pointers_[numbers_ + i] = &list_values_[numbers_ + i];
    }
    boxes_[lists_] = {list_pointers_ + numbers_, items_ + numbers_, size};
    numbers_ += size;
    add(EValue(&boxes_[lists_++]));
  }
  void pair(int64_t a, int64_t b) {
    const int64_t values[] = {a, b};
    list(values, 2);
  }

  // Adds a tensor with the memory of an operand.
  void tensor(const Operand& operand, View view) {
    const Shape& shape = operand.shape;
    int64_t sizes[kMaxRank];
    uint8_t order[kMaxRank];  // the dimensions of the tensor in the order of memory, outermost first
    uint8_t rank = static_cast<uint8_t>(shape.rank);
    for (uint8_t i = 0; i < rank; ++i) {
      sizes[i] = shape.dims[i];
      order[i] = i;
    }
    if (view == View::Image || view == View::Depthwise || view == View::Transposed) {
      static constexpr uint8_t kImage[] = {0, 2, 3, 1}, kFilter[] = {1, 2, 3, 0};
      const uint8_t* const axes = view == View::Image ? kImage : kFilter;
      for (uint8_t i = 0; i < 4; ++i) {
        order[i] = axes[i];
        sizes[axes[i]] = shape.dims[i];
      }
    } else if (view == View::Rows) {
      sizes[0] = shape.numel() / shape.last();
      sizes[1] = shape.last();
      rank = 2;
    } else if (view == View::Batches) {
      const int64_t rows = shape.dims[rank - 2], columns = shape.last();
      sizes[0] = shape.numel() / (rows * columns);
      sizes[1] = rows;
      sizes[2] = columns;
      rank = 3;
    }
    if (view == View::Rows || view == View::Batches) {
      for (uint8_t i = 0; i < rank; ++i) order[i] = i;
    }
    dense(operand.dtype, operand.data, sizes, order, rank);
  }

  // Adds a tensor whose elements are dense in memory, in this order of dimensions.
  void dense(ScalarType dtype, void* data, const int64_t* sizes, const uint8_t* order, uint8_t rank) {
    const uint32_t at = tensors_++;
    TensorImpl& impl = impls_[at];
    impl = TensorImpl();
    impl.data = data;
    impl.dtype = dtype;
    impl.dim = rank;
    impl.numel = 1;
    for (uint8_t i = 0; i < rank; ++i) {
      sizes_[at][i] = static_cast<SizesType>(sizes[i]);
      orders_[at][i] = order[i];
      impl.numel *= sizes[i];
    }
    impl.sizes = sizes_[at];
    impl.strides = strides_[at];
    impl.dim_order = orders_[at];
    impl.capacity = static_cast<size_t>(impl.numel) * element_size(dtype);
    strides_from_dim_order({impl.sizes, rank}, orders_[at], strides_[at]);
    add(EValue(&impl));
  }

 private:
  void add(const EValue& value) {
    values_[count_] = value;
    pointers_[count_] = &values_[count_];
    ++count_;
  }

  uint32_t count_ = 0, tensors_ = 0, lists_ = 0, numbers_ = 0;
  EValue values_[kMaxArguments];
  EValue* pointers_[kMaxArguments];
  TensorImpl impls_[kMaxTensors];
  SizesType sizes_[kMaxTensors][kMaxRank];
  StridesType strides_[kMaxTensors][kMaxRank];
  DimOrderType orders_[kMaxTensors][kMaxRank];
  BoxedList<int64_t> boxes_[kMaxLists];
  EValue list_values_[kMaxListItems];
  EValue* list_pointers_[kMaxListItems];
  int64_t items_[kMaxListItems];
};

constexpr std::string_view kExactGelu = "none";

struct ElementwiseKernel {
  Kind kind;
  const char* kernel;
  // Adds the arguments between the inputs and the result. Null: the kernel has no such arguments.
  void (*parameters)(const Node& node, Arguments& arguments);
};

void add_alpha_of_one(const Node&, Arguments& arguments) { arguments.number(int64_t{1}); }

constexpr ElementwiseKernel kElementwise[] = {
    {Kind::XNNAdd, "aten::add.out", add_alpha_of_one},
    {Kind::XNNSubtract, "aten::sub.out", add_alpha_of_one},
    {Kind::XNNMultiply, "aten::mul.out", nullptr},
    {Kind::XNNDiv, "aten::div.out", nullptr},
    {Kind::XNNMinimum, "aten::minimum.out", nullptr},
    {Kind::XNNMaximum, "aten::maximum.out", nullptr},
    {Kind::XNNSigmoid, "aten::sigmoid.out", nullptr},
    {Kind::XNNFloor, "aten::floor.out", nullptr},
    {Kind::XNNCeiling, "aten::ceil.out", nullptr},
    {Kind::XNNSquareRoot, "aten::sqrt.out", nullptr},
    {Kind::XNNReciprocalSquareRoot, "aten::rsqrt.out", nullptr},
    {Kind::XNNHardswish, "aten::hardswish.out", nullptr},
    {Kind::XNNNegate, "aten::neg.out", nullptr},
    {Kind::XNNAbs, "aten::abs.out", nullptr},
    {Kind::XNNExp, "aten::exp.out", nullptr},
    {Kind::XNNLog, "aten::log.out", nullptr},
    {Kind::XNNSin, "aten::sin.out", nullptr},
    {Kind::XNNCos, "aten::cos.out", nullptr},
    {Kind::XNNTanh, "aten::tanh.out", nullptr},
    {Kind::XNNGelu, "aten::gelu.out", [](const Node&, Arguments& a) { a.text(&kExactGelu); }},
    {Kind::XNNClamp, "aten::clamp.out",
     [](const Node& node, Arguments& a) {
       a.number(double{node.min});
       a.number(double{node.max});
     }},
    {Kind::XNNELU, "aten::elu.out",
     [](const Node& node, Arguments& a) {
       a.number(double{node.number});
       a.number(1.0);
       a.number(1.0);
     }},
    {Kind::XNNLeakyReLU, "aten::leaky_relu.out", [](const Node& node, Arguments& a) { a.number(double{node.number}); }},
    {Kind::XNNSoftmax, "aten::_softmax.out",
     [](const Node&, Arguments& a) {
       a.number(int64_t{-1});
       a.flag(false);
     }},
};

const ElementwiseKernel* find_elementwise(Kind kind) {
  for (const ElementwiseKernel& row : kElementwise) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

bool is_symmetric(const PayloadWindow& window) { return window.top == window.bottom && window.left == window.right; }

// Whether `after` is the padding that ceil_mode adds to symmetric padding of `before`.
bool rounds_up(int64_t size, int64_t before, int64_t after, int64_t window, int64_t stride, int64_t dilation) {
  const int64_t rest = size - dilation * (window - 1) - 1 + before;
  const int64_t count = (rest + after) / stride + 1;
  int64_t rounded = (rest + before + stride - 1) / stride + 1;
  if ((rounded - 1) * stride >= size + before) --rounded;
  return count == rounded;
}

bool has_ceil_mode(const Graph& graph, const Node& node) {
  const PayloadWindow& w = node.window;
  const Shape& in = graph.values[node.inputs[0]].shape;
  return rounds_up(in.dims[1], w.top, w.bottom, w.height, w.stride_height, w.dilation_height) &&
         rounds_up(in.dims[2], w.left, w.right, w.width, w.stride_width, w.dilation_width);
}

// Returns the name of the kernel for a node that is not elementwise, or null if no kernel computes it.
const char* kernel_name(const Graph& graph, const Node& node) {
  const PayloadWindow& window = node.window;
  switch (node.kind) {
    case Kind::XNNSquare:
      return "aten::mul.out";
    case Kind::XNNBatchMatrixMultiply:
      return "aten::bmm.out";
    case Kind::XNNFullyConnected:
      if ((node.flags & kTransposeWeights) == 0) return "aten::linear.out";
      return node.inputs[2] == kNone ? "aten::mm.out" : "aten::addmm.out";
    case Kind::XNNConv2d:
    case Kind::XNNDepthwiseConv2d:
    case Kind::XNNConvTranspose2d: {
      const bool is_grouped = node.kind == Kind::XNNConvTranspose2d && window.groups > 1;
      const bool is_mixed = graph.values[node.inputs[0]].dtype != graph.values[node.inputs[1]].dtype;
      return is_symmetric(window) && !is_grouped && !is_mixed ? "aten::convolution.out" : nullptr;
    }
    case Kind::XNNAvgPooling2d:
      return is_symmetric(window) ? "aten::avg_pool2d.out" : nullptr;
    case Kind::XNNMaxPooling2d:
      return is_symmetric(window) || has_ceil_mode(graph, node) ? "aten::max_pool2d_with_indices.out" : nullptr;
    case Kind::XNNGlobalAvgPooling2d:
      return "aten::avg_pool2d.out";
    case Kind::XNNStaticConstantPad:
      return "aten::constant_pad_nd.out";
    default:
      return nullptr;
  }
}

Error check_dtypes(const Kernel& kernel, Arguments& arguments) {
  const DtypeMismatch mismatch = find_dtype_mismatch(kernel, arguments.data());
  RL_REQUIRE(!mismatch.found, NotSupported, "the kernel of %s does not support %s tensors as argument %u", kernel.name,
             dtype_name(mismatch.dtype), mismatch.argument);
  return Error::Ok;
}

class KernelStep final : public Step {
 public:
  KernelStep(const Node& node, const Kernel& kernel, const Kernel* clamp)
      : Step(node), kernel_(kernel), clamp_(clamp) {}

  // The memory for the indices that the kernel of max pooling writes. No step reads them.
  size_t scratch_bytes(const Operand* operands) const override {
    return node_.kind == Kind::XNNMaxPooling2d ? static_cast<size_t>(operands[node_.output].numel()) * sizeof(int64_t)
                                               : 0;
  }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    arguments_.clear();
    set_arguments(operands, scratch);
    RL_TRY(check_dtypes(kernel_, arguments_));
    if (clamp_ == nullptr) return Error::Ok;
    // clamp.out(self, min, max, *, out)
    const Operand& out = operands[node_.output];
    clamp_arguments_.clear();
    clamp_arguments_.tensor(out, View::Plain);
    clamp_arguments_.number(double{node_.min});
    clamp_arguments_.number(double{node_.max});
    clamp_arguments_.tensor(out, View::Plain);
    return check_dtypes(*clamp_, clamp_arguments_);
  }

  Error run(KernelRuntimeContext& context) override {
    kernel_.boxed.call(context, arguments_.data());
    if (clamp_ && !context.failed()) clamp_->boxed.call(context, clamp_arguments_.data());
    return context.failure();
  }

 private:
  // Adds the arguments of the kernel, in the order of the operator's schema. Comments show the schemas.
  void set_arguments(const Operand* operands, void* scratch) {
    switch (node_.kind) {
      case Kind::XNNSquare:
        return square(operands);
      case Kind::XNNBatchMatrixMultiply:
        return batch_matrix_multiply(operands);
      case Kind::XNNFullyConnected:
        return (node_.flags & kTransposeWeights) != 0 ? matrix_multiply(operands) : linear(operands);
      case Kind::XNNConv2d:
      case Kind::XNNDepthwiseConv2d:
      case Kind::XNNConvTranspose2d:
        return convolution(operands);
      case Kind::XNNAvgPooling2d:
        return average_pool(operands);
      case Kind::XNNMaxPooling2d:
        return max_pool(operands, scratch);
      case Kind::XNNGlobalAvgPooling2d:
        return global_average_pool(operands);
      case Kind::XNNStaticConstantPad:
        return pad(operands);
      default:
        return elementwise(operands);
    }
  }

  // An operator of kElementwise: (inputs..., parameters..., *, out)
  void elementwise(const Operand* operands) {
    for (uint32_t i = 0; i < node_.num_inputs; ++i) arguments_.tensor(operands[node_.inputs[i]], View::Plain);
    const ElementwiseKernel* const row = find_elementwise(node_.kind);
    if (row->parameters) row->parameters(node_, arguments_);
    arguments_.tensor(operands[node_.output], View::Plain);
  }

  // mul.out(self, other, *, out)
  void square(const Operand* operands) {
    arguments_.tensor(operands[node_.inputs[0]], View::Plain);
    arguments_.tensor(operands[node_.inputs[0]], View::Plain);
    arguments_.tensor(operands[node_.output], View::Plain);
  }

  // bmm.out(self, mat2, *, out)
  void batch_matrix_multiply(const Operand* operands) {
    arguments_.tensor(operands[node_.inputs[0]], View::Batches);
    arguments_.tensor(operands[node_.inputs[1]], View::Batches);
    arguments_.tensor(operands[node_.output], View::Batches);
  }

  // linear.out(input, weight, bias=None, *, out)
  void linear(const Operand* operands) {
    arguments_.tensor(operands[node_.inputs[0]], View::Rows);
    arguments_.tensor(operands[node_.inputs[1]], View::Plain);
    bias(operands);
    arguments_.tensor(operands[node_.output], View::Rows);
  }

  // mm.out(self, mat2, *, out), or with a bias: addmm.out(self, mat1, mat2, *, beta=1, alpha=1, out), where self is
  // the bias
  void matrix_multiply(const Operand* operands) {
    const bool has_bias = node_.inputs[2] != kNone;
    if (has_bias) bias(operands);
    arguments_.tensor(operands[node_.inputs[0]], View::Rows);
    arguments_.tensor(operands[node_.inputs[1]], View::Plain);
    if (has_bias) {
      arguments_.number(int64_t{1});
      arguments_.number(int64_t{1});
    }
    arguments_.tensor(operands[node_.output], View::Rows);
  }

  // Adds the bias as a vector, or None.
  void bias(const Operand* operands) {
    if (node_.inputs[2] == kNone) return arguments_.none();
    Operand flat = operands[node_.inputs[2]];
    flat.shape = Shape{1, {flat.numel()}};
    arguments_.tensor(flat, View::Plain);
  }

  // convolution.out(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *, out)
  void convolution(const Operand* operands) {
    const PayloadWindow& window = node_.window;
    const bool is_transposed = node_.kind == Kind::XNNConvTranspose2d;
    const View filter = is_transposed                            ? View::Transposed
                        : node_.kind == Kind::XNNDepthwiseConv2d ? View::Depthwise
                                                                 : View::Image;
    arguments_.tensor(operands[node_.inputs[0]], View::Image);
    arguments_.tensor(operands[node_.inputs[1]], filter);
    bias(operands);
    arguments_.pair(window.stride_height, window.stride_width);
    arguments_.pair(window.top, window.left);
    arguments_.pair(window.dilation_height, window.dilation_width);
    arguments_.flag(is_transposed);
    arguments_.pair(window.adjustment_height, window.adjustment_width);
    arguments_.number(int64_t{window.groups});
    arguments_.tensor(operands[node_.output], View::Image);
  }

  // avg_pool2d.out(self, kernel_size, stride, padding, ceil_mode=False, count_include_pad=True,
  // divisor_override=None, *, out)
  void average_pool(const Operand* operands) {
    pool_window(operands);
    arguments_.flag(false);
    arguments_.flag(false);
    arguments_.none();
    arguments_.tensor(operands[node_.output], View::Image);
  }

  // avg_pool2d.out() with a window of the size of the image
  void global_average_pool(const Operand* operands) {
    const Operand& in = operands[node_.inputs[0]];
    Operand image = operands[node_.output];
    image.shape = Shape{4, {in.shape[0], 1, 1, in.shape.last()}};
    arguments_.tensor(in, View::Image);
    arguments_.pair(in.shape[1], in.shape[2]);
    arguments_.pair(in.shape[1], in.shape[2]);
    arguments_.pair(0, 0);
    arguments_.flag(false);
    arguments_.flag(false);
    arguments_.none();
    arguments_.tensor(image, View::Image);
  }

  // max_pool2d_with_indices.out(self, kernel_size, stride, padding, dilation, ceil_mode, *, out, indices)
  void max_pool(const Operand* operands, void* indices) {
    const Operand& out = operands[node_.output];
    pool_window(operands);
    arguments_.pair(node_.window.dilation_height, node_.window.dilation_width);
    arguments_.flag(!is_symmetric(node_.window));
    arguments_.tensor(out, View::Image);
    arguments_.tensor({out.shape, indices, ScalarType::Long}, View::Image);
  }

  // Adds the arguments with which both poolings begin: self, kernel_size, stride, padding.
  void pool_window(const Operand* operands) {
    const PayloadWindow& window = node_.window;
    arguments_.tensor(operands[node_.inputs[0]], View::Image);
    arguments_.pair(window.height, window.width);
    arguments_.pair(window.stride_height, window.stride_width);
    arguments_.pair(window.top, window.left);
  }

  // constant_pad_nd.out(self, pad, value, *, out). `pad` has the padding before and after each dimension, from the
  // last dimension to the first.
  void pad(const Operand* operands) {
    int64_t padding[2 * kMaxRank];
    for (uint32_t i = 0; i < node_.rank; ++i) {
      padding[2 * i] = node_.first[node_.rank - 1 - i];
      padding[2 * i + 1] = node_.second[node_.rank - 1 - i];
    }
    arguments_.tensor(operands[node_.inputs[0]], View::Plain);
    arguments_.list(padding, 2 * node_.rank);
    arguments_.number(double{node_.number});
    arguments_.tensor(operands[node_.output], View::Plain);
  }

  const Kernel& kernel_;
  const Kernel* clamp_;  // is applied to the result, in place; null if the result has no bounds
  Arguments arguments_;
  Arguments clamp_arguments_;
};

}  // namespace

Result<Step*> make_kernel_step(const Graph& graph, const Node& node, Span<const KernelTable> kernels,
                               MemoryAllocator& allocator) {
  const ElementwiseKernel* row = find_elementwise(node.kind);
  const char* name = row ? row->kernel : kernel_name(graph, node);
  const Kernel* kernel = name ? find_kernel(kernels, name) : nullptr;
  const bool is_clamped = node.has_bounds && node.kind != Kind::XNNClamp;
  const Kernel* clamp = is_clamped ? find_kernel(kernels, "aten::clamp.out") : nullptr;
  RL_REQUIRE(kernel && (clamp || !is_clamped), NotSupported, "this build contains no kernel for a %s (debug handle %u)",
             name_of(node.kind), node.debug_handle);
  const ScalarType dtype = graph.values[node.inputs[0]].dtype;
  RL_REQUIRE(kernel->dtypes.contains(dtype), NotSupported, "the kernel of %s does not support %s", kernel->name,
             dtype_name(dtype));
  void* memory = allocator.allocate(sizeof(KernelStep), alignof(KernelStep));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  return static_cast<Step*>(new (memory) KernelStep(node, *kernel, clamp));
}

}  // namespace rushlight::xnnpack
