#include <pthreadpool.h>
#include <xnnpack.h>

#include <cmath>
#include <cstring>

#include "backends/xnnpack/convert.h"
#include "backends/xnnpack/exact_result.h"
#include "backends/xnnpack/step.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

// The arguments of create() and setup() of an operator: shapes and float addresses. Index i belongs to input i of the
// node.
struct Call {
  const Node& node;
  const Shape* in[3] = {};
  const Shape* out = nullptr;
  const float* data[3] = {};
  float* result = nullptr;
  float min = -INFINITY;
  float max = INFINITY;
};

// Idle threads sleep. Spinning threads would slow down other threads of the process.
constexpr uint32_t kFlags = XNN_FLAG_YIELD_WORKERS;
// With fewer result elements, one thread is faster.
constexpr int64_t kFewElements = 32 * 1024;

using Create = xnn_status (*)(const Call& call, xnn_operator_t* op);
using Setup = xnn_status (*)(const Call& call, xnn_operator_t op, pthreadpool_t threads);

struct Row {
  Kind kind;
  Create create;
  Setup setup;
  uint8_t constants;    // bit i: input i must be constant, and create() packs it
  bool is_by_channels;  // create() fixes the size of the last dimension
  bool has_bounds;      // the operator can clamp its results
};

template <auto create>
xnn_status create_unary(const Call&, xnn_operator_t* op) {
  return create(1, 1, 1, kFlags, op);
}

template <auto setup>
xnn_status setup_unary(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return setup(op, static_cast<size_t>(call.in[0]->numel()), call.data[0], call.result, threads);
}

template <auto create>
xnn_status create_bounded(const Call& call, xnn_operator_t* op) {
  return create(call.min, call.max, kFlags, op);
}

template <auto create>
xnn_status create_unbounded(const Call&, xnn_operator_t* op) {
  return create(kFlags, op);
}

template <auto setup>
xnn_status setup_binary(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  size_t dims[2][kMaxRank];
  for (int i = 0; i < 2; ++i) {
    for (uint32_t axis = 0; axis < call.in[i]->rank; ++axis)
      dims[i][axis] = static_cast<size_t>(call.in[i]->dims[axis]);
  }
  return setup(op, call.in[0]->rank, dims[0], call.in[1]->rank, dims[1], call.data[0], call.data[1], call.result,
               threads);
}

size_t size_of(const Shape& shape, uint32_t axis) { return static_cast<size_t>(shape.dims[axis]); }
size_t channels_of(const Call& call) { return static_cast<size_t>(call.in[0]->last()); }
size_t rows_of(const Call& call) { return static_cast<size_t>(call.in[0]->numel() / call.in[0]->last()); }

xnn_status create_clamp(const Call& call, xnn_operator_t* op) {
  return xnn_create_clamp_nc_f32(1, 1, 1, call.min, call.max, kFlags, op);
}
xnn_status create_elu(const Call& call, xnn_operator_t* op) {
  return xnn_create_elu_nc_f32(1, 1, 1, call.node.number, kFlags, op);
}
xnn_status create_leaky_relu(const Call& call, xnn_operator_t* op) {
  return xnn_create_leaky_relu_nc_f32(1, 1, 1, call.node.number, kFlags, op);
}

xnn_status create_softmax(const Call& call, xnn_operator_t* op) {
  const size_t channels = channels_of(call);
  return xnn_create_softmax_nc_f32(channels, channels, channels, kFlags, op);
}
xnn_status setup_softmax(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_softmax_nc_f32(op, rows_of(call), call.data[0], call.result, threads);
}

xnn_status create_prelu(const Call& call, xnn_operator_t* op) {
  const size_t channels = channels_of(call);
  return xnn_create_prelu_nc_f32(channels, channels, channels, call.data[1], kFlags, op);
}
xnn_status setup_prelu(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_prelu_nc_f32(op, rows_of(call), call.data[0], call.result, threads);
}

xnn_status create_convolution(const Call& call, xnn_operator_t* op) {
  const PayloadWindow& w = call.node.window;
  const uint32_t flags = call.node.kind == Kind::XNNDepthwiseConv2d ? XNN_FLAG_DEPTHWISE_CONVOLUTION | kFlags : kFlags;
  return xnn_create_convolution2d_nhwc_f32(
      w.top, w.right, w.bottom, w.left, w.height, w.width, w.stride_height, w.stride_width, w.dilation_height,
      w.dilation_width, w.groups, w.group_inputs, w.group_outputs, size_t{w.groups} * w.group_inputs,
      size_t{w.groups} * w.group_outputs, call.data[1], call.data[2], call.min, call.max, flags, op);
}
xnn_status setup_convolution(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_convolution2d_nhwc_f32(op, size_of(*call.in[0], 0), size_of(*call.in[0], 1), size_of(*call.in[0], 2),
                                          call.data[0], call.result, threads);
}

// XNNPACK 2022 splits a strided transposed convolution into one convolution for each residue of positions modulo the
// stride. It does not check that the first position of each convolution is inside the result, and reads at random
// addresses if it is outside. XNNPACK supports only adjustments (output padding) below the stride; PyTorch also
// supports adjustments below the dilation.
bool supports_deconvolution(const PayloadWindow& w, const Shape& out) {
  if (w.adjustment_height >= w.stride_height || w.adjustment_width >= w.stride_width) return false;
  const bool is_split = (w.stride_height > 1 || w.stride_width > 1) && w.dilation_height == 1 &&
                        w.dilation_width == 1 && w.stride_height <= w.height && w.stride_width <= w.width;
  return !is_split || (out.dims[1] + 1 >= w.stride_height && out.dims[2] + 1 >= w.stride_width);
}

xnn_status create_deconvolution(const Call& call, xnn_operator_t* op) {
  const PayloadWindow& w = call.node.window;
  return xnn_create_deconvolution2d_nhwc_f32(
      w.top, w.right, w.bottom, w.left, w.height, w.width, w.stride_height, w.stride_width, w.dilation_height,
      w.dilation_width, w.groups, w.group_inputs, w.group_outputs, size_t{w.groups} * w.group_inputs,
      size_t{w.groups} * w.group_outputs, call.data[1], call.data[2], call.min, call.max, kFlags, op);
}
xnn_status setup_deconvolution(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_deconvolution2d_nhwc_f32(op, size_of(*call.in[0], 0), size_of(*call.in[0], 1),
                                            size_of(*call.in[0], 2), call.node.window.adjustment_height,
                                            call.node.window.adjustment_width, call.data[0], call.result, threads);
}

xnn_status create_fully_connected(const Call& call, xnn_operator_t* op) {
  const bool is_transposed = (call.node.flags & kTransposeWeights) != 0;
  const size_t inputs = size_of(*call.in[1], is_transposed ? 0 : 1);
  const size_t outputs = size_of(*call.in[1], is_transposed ? 1 : 0);
  return xnn_create_fully_connected_nc_f32(inputs, outputs, inputs, outputs, call.data[1], call.data[2], call.min,
                                           call.max, kFlags | (is_transposed ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0), op);
}
xnn_status setup_fully_connected(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_fully_connected_nc_f32(op, rows_of(call), call.data[0], call.result, threads);
}

xnn_status create_average_pool(const Call& call, xnn_operator_t* op) {
  const PayloadWindow& w = call.node.window;
  const size_t channels = channels_of(call);
  return xnn_create_average_pooling2d_nhwc_f32(w.top, w.right, w.bottom, w.left, w.height, w.width, w.stride_height,
                                               w.stride_width, channels, channels, channels, call.min, call.max, kFlags,
                                               op);
}
xnn_status setup_average_pool(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_average_pooling2d_nhwc_f32(op, size_of(*call.in[0], 0), size_of(*call.in[0], 1),
                                              size_of(*call.in[0], 2), call.data[0], call.result, threads);
}

xnn_status create_max_pool(const Call& call, xnn_operator_t* op) {
  const PayloadWindow& w = call.node.window;
  const size_t channels = channels_of(call);
  return xnn_create_max_pooling2d_nhwc_f32(w.top, w.right, w.bottom, w.left, w.height, w.width, w.stride_height,
                                           w.stride_width, w.dilation_height, w.dilation_width, channels, channels,
                                           channels, call.min, call.max, kFlags, op);
}
xnn_status setup_max_pool(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_max_pooling2d_nhwc_f32(op, size_of(*call.in[0], 0), size_of(*call.in[0], 1), size_of(*call.in[0], 2),
                                          call.data[0], call.result, threads);
}

xnn_status create_global_pool(const Call& call, xnn_operator_t* op) {
  const size_t channels = channels_of(call);
  return xnn_create_global_average_pooling_nwc_f32(channels, channels, channels, call.min, call.max, kFlags, op);
}
xnn_status setup_global_pool(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_global_average_pooling_nwc_f32(op, size_of(*call.in[0], 0),
                                                  size_of(*call.in[0], 1) * size_of(*call.in[0], 2), call.data[0],
                                                  call.result, threads);
}

xnn_status create_resize(const Call& call, xnn_operator_t* op) {
  const size_t channels = channels_of(call);
  const uint32_t flags = (call.node.flags & kAlignCorners) != 0 ? XNN_FLAG_ALIGN_CORNERS | kFlags : kFlags;
  return xnn_create_resize_bilinear2d_nhwc_f32(channels, channels, channels, flags, op);
}
xnn_status setup_resize(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  return xnn_setup_resize_bilinear2d_nhwc_f32(op, size_of(*call.in[0], 0), size_of(*call.in[0], 1),
                                              size_of(*call.in[0], 2), call.node.height, call.node.width, call.data[0],
                                              call.result, threads);
}

xnn_status create_pad(const Call& call, xnn_operator_t* op) {
  return xnn_create_constant_pad_nd_x32(&call.node.number, kFlags, op);
}
xnn_status setup_pad(const Call& call, xnn_operator_t op, pthreadpool_t threads) {
  size_t dims[kMaxRank], before[kMaxRank], after[kMaxRank];
  for (uint32_t axis = 0; axis < call.in[0]->rank; ++axis) {
    dims[axis] = size_of(*call.in[0], axis);
    before[axis] = call.node.first[axis];
    after[axis] = call.node.second[axis];
  }
  return xnn_setup_constant_pad_nd_x32(op, call.in[0]->rank, dims, before, after, call.data[0], call.result, threads);
}

#define RL_UNARY(kind, name) \
  {Kind::kind, create_unary<xnn_create_##name##_nc_f32>, setup_unary<xnn_setup_##name##_nc_f32>, 0, false, false}
#define RL_BINARY(kind, name) \
  {Kind::kind, create_bounded<xnn_create_##name##_nd_f32>, setup_binary<xnn_setup_##name##_nd_f32>, 0, false, true}

constexpr Row kRows[] = {
    RL_BINARY(XNNAdd, add),
    RL_BINARY(XNNSubtract, subtract),
    RL_BINARY(XNNMultiply, multiply),
    RL_BINARY(XNNDiv, divide),
    {Kind::XNNMinimum, create_unbounded<xnn_create_minimum_nd_f32>, setup_binary<xnn_setup_minimum_nd_f32>, 0, false,
     false},
    {Kind::XNNMaximum, create_unbounded<xnn_create_maximum_nd_f32>, setup_binary<xnn_setup_maximum_nd_f32>, 0, false,
     false},
    RL_UNARY(XNNSigmoid, sigmoid),
    RL_UNARY(XNNFloor, floor),
    RL_UNARY(XNNCeiling, ceiling),
    RL_UNARY(XNNSquareRoot, square_root),
    RL_UNARY(XNNHardswish, hardswish),
    RL_UNARY(XNNNegate, negate),
    RL_UNARY(XNNSquare, square),
    RL_UNARY(XNNAbs, abs),
    {Kind::XNNClamp, create_clamp, setup_unary<xnn_setup_clamp_nc_f32>, 0, false, true},
    {Kind::XNNELU, create_elu, setup_unary<xnn_setup_elu_nc_f32>, 0, false, false},
    {Kind::XNNLeakyReLU, create_leaky_relu, setup_unary<xnn_setup_leaky_relu_nc_f32>, 0, false, false},
    {Kind::XNNSoftmax, create_softmax, setup_softmax, 0, true, false},
    {Kind::XNNPReLU, create_prelu, setup_prelu, 2, true, false},
    {Kind::XNNConv2d, create_convolution, setup_convolution, 6, false, true},
    {Kind::XNNDepthwiseConv2d, create_convolution, setup_convolution, 6, false, true},
    {Kind::XNNConvTranspose2d, create_deconvolution, setup_deconvolution, 6, false, true},
    {Kind::XNNFullyConnected, create_fully_connected, setup_fully_connected, 6, false, true},
    {Kind::XNNAvgPooling2d, create_average_pool, setup_average_pool, 0, true, true},
    {Kind::XNNMaxPooling2d, create_max_pool, setup_max_pool, 0, true, true},
    {Kind::XNNGlobalAvgPooling2d, create_global_pool, setup_global_pool, 0, true, true},
    {Kind::XNNStaticResizeBilinear2D, create_resize, setup_resize, 0, true, false},
    {Kind::XNNStaticConstantPad, create_pad, setup_pad, 0, false, false},
};

const Row* find_row(Kind kind) {
  for (const Row& row : kRows) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

Error failure(const Node& node, const char* what, xnn_status status) {
  const Error code = status == xnn_status_out_of_memory ? Error::DelegateMemoryAllocationFailed : Error::NotSupported;
  return fail(code, "XNNPACK cannot %s a %s (debug handle %u): status %d", what, name_of(node.kind), node.debug_handle,
              static_cast<int>(status));
}

// Whether all values are finite. x - x is 0 if x is finite, else NaN. The independent sums allow vectorization.
bool is_finite(const float* values, int64_t count) {
  constexpr int64_t kLanes = 16;
  float sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane] - values[i + lane];
  }
  for (; i < count; ++i) sums[0] += values[i] - values[i];
  for (int64_t lane = 1; lane < kLanes; ++lane) sums[0] += sums[lane];
  return sums[0] == 0.0f;
}

// Runs a node with an operator of the XNNPACK library. Half-precision inputs are converted to float32 in scratch
// memory, and the result is converted back.
class LibraryStep final : public Step {
 public:
  LibraryStep(const Graph& graph, const Node& node, const Row& row) : Step(node), graph_(graph), row_(row) {}
  ~LibraryStep() override {
    if (op_) xnn_delete_operator(op_);
  }

  Error create(const Operand* operands) {
    if (op_) xnn_delete_operator(op_);
    op_ = nullptr;
    RL_TRY(check(operands));
    Call call = shapes(operands);
    float* widened[3] = {};
    bool has_memory = true;
    for (uint32_t i = 0; i < node_.num_inputs && i < 3; ++i) {
      if ((row_.constants & 1u << i) == 0 || node_.inputs[i] == kNone) continue;
      const Value& value = graph_.values[node_.inputs[i]];
      if (value.dtype == ScalarType::Float) {
        call.data[i] = static_cast<const float*>(value.constant);
        continue;
      }
      widened[i] =
          static_cast<float*>(platform::allocate(static_cast<size_t>(value.shape.numel()) * sizeof(float), 64));
      if (widened[i]) to_float(value.dtype, value.constant, value.shape.numel(), widened[i]);
      has_memory = has_memory && widened[i];
      call.data[i] = widened[i];
    }
    const xnn_status status = has_memory ? row_.create(call, &op_) : xnn_status_out_of_memory;
    has_finite_constants_ = true;
    for (uint32_t i = 1; has_memory && loses_special_values(node_.kind) && i < node_.num_inputs && i < 3; ++i) {
      if (!is_packed(i) || node_.inputs[i] == kNone) continue;
      has_finite_constants_ &= is_finite(call.data[i], graph_.values[node_.inputs[i]].shape.numel());
    }
    for (float* copy : widened) {
      if (copy) platform::release(copy);
    }
    if (status != xnn_status_success) return failure(node_, "create", status);
    channels_ = operands[node_.inputs[0]].shape.rank ? operands[node_.inputs[0]].shape.last() : 1;
    return Error::Ok;
  }

  size_t scratch_bytes(const Operand* operands) const override {
    size_t bytes = 0;
    for (uint32_t i = 0; i < node_.num_inputs; ++i) bytes += staging_bytes(operands, node_.inputs[i], is_packed(i));
    return bytes + staging_bytes(operands, node_.output, false);
  }

  bool reads(uint32_t input) const override {
    return !is_packed(input) || row_.is_by_channels || loses_special_values(node_.kind);
  }
  bool reads_past_end() const override { return true; }

  Error setup(const Operand* operands, void* scratch, pthreadpool* threads) override {
    const Shape& in = operands[node_.inputs[0]].shape;
    if (row_.is_by_channels && in.rank && in.last() != channels_) RL_TRY(create(operands));
    RL_TRY(check(operands));
    uint8_t* free = static_cast<uint8_t*>(scratch);
    Call call = shapes(operands);
    threads_ = operands[node_.output].numel() < kFewElements ? nullptr : threads;
    num_staged_ = 0;
    for (uint32_t i = 0; i < node_.num_inputs && i < 3; ++i) {
      if (is_packed(i) || node_.inputs[i] == kNone) continue;
      const Operand& operand = operands[node_.inputs[i]];
      call.data[i] = static_cast<const float*>(operand.data);
      if (operand.dtype == ScalarType::Float) continue;
      call.data[i] = reinterpret_cast<float*>(free);
      staged_[num_staged_++] = {operand, reinterpret_cast<float*>(free)};
      free += staging_bytes(operands, node_.inputs[i], false);
    }
    const Operand& out = operands[node_.output];
    result_ = {out, out.dtype == ScalarType::Float ? nullptr : reinterpret_cast<float*>(free)};
    call.result = result_.floats ? result_.floats : static_cast<float*>(out.data);
    input_ = call.data[0];
    for (uint32_t i = 0; i < node_.num_inputs && i < 3; ++i) {
      if (node_.inputs[i] != kNone) inputs_[i] = operands[node_.inputs[i]];
    }
    const xnn_status status = row_.setup(call, op_, threads_);
    return status == xnn_status_success ? Error::Ok : failure(node_, "set up", status);
  }

  Error run(KernelRuntimeContext&) override {
    for (uint32_t i = 0; i < num_staged_; ++i) {
      const Staged& staged = staged_[i];
      to_float(staged.operand.dtype, staged.operand.data, staged.operand.numel(), staged.floats);
    }
    const xnn_status status = xnn_run_operator(op_, threads_);
    if (status != xnn_status_success) return failure(node_, "run", status);
    if (loses_special_values(node_.kind) && !(has_finite_constants_ && is_finite(input_, inputs_[0].numel()))) {
      restore_special_values();
    }
    if (result_.floats)
      from_float(result_.operand.dtype, result_.floats, result_.operand.numel(), result_.operand.data);
    return Error::Ok;
  }

 private:
  struct Staged {
    Operand operand;
    float* floats = nullptr;
  };

  // Recomputes results that XNNPACK may compute wrongly if inputs have NaN or infinities: results that are not finite,
  // and results that equal a bound of the clamp.
  void restore_special_values() {
    const Operand& out = result_.operand;
    float* results = result_.floats ? result_.floats : static_cast<float*>(out.data);
    for (int64_t i = 0; i < out.numel(); ++i) {
      const bool is_bound = node_.has_bounds && (results[i] == node_.min || results[i] == node_.max);
      if (std::isfinite(results[i]) && !is_bound) continue;
      results[i] = exact_result(node_, inputs_, input_, out.shape, i);
      if (node_.has_bounds && results[i] < node_.min) results[i] = node_.min;
      if (node_.has_bounds && results[i] > node_.max) results[i] = node_.max;
    }
  }

  bool is_packed(uint32_t input) const { return (row_.constants & 1u << input) != 0; }

  // Returns NotSupported for shapes for which XNNPACK would read out of bounds.
  Error check(const Operand* operands) const {
    const PayloadWindow& w = node_.window;
    const Shape& out = operands[node_.output].shape;
    RL_REQUIRE(node_.kind != Kind::XNNConvTranspose2d || supports_deconvolution(w, out), NotSupported,
               "XNNPACK cannot compute %lld x %lld results of a transposed convolution with a stride of %u x %u and "
               "an output padding of %u x %u (debug handle %u)",
               static_cast<long long>(out.dims[1]), static_cast<long long>(out.dims[2]), w.stride_height,
               w.stride_width, w.adjustment_height, w.adjustment_width, node_.debug_handle);
    return Error::Ok;
  }

  size_t staging_bytes(const Operand* operands, uint32_t id, bool is_packed_input) const {
    if (id == kNone || is_packed_input || operands[id].dtype == ScalarType::Float) return 0;
    const size_t bytes = static_cast<size_t>(operands[id].numel()) * sizeof(float) + XNN_EXTRA_BYTES;
    return (bytes + 63) / 64 * 64;
  }

  Call shapes(const Operand* operands) const {
    Call call{node_};
    for (uint32_t i = 0; i < node_.num_inputs && i < 3; ++i) {
      if (node_.inputs[i] != kNone) call.in[i] = &operands[node_.inputs[i]].shape;
    }
    call.out = &operands[node_.output].shape;
    if (node_.has_bounds) {
      call.min = node_.min;
      call.max = node_.max;
    }
    return call;
  }

  const Graph& graph_;
  const Row& row_;
  xnn_operator_t op_ = nullptr;
  pthreadpool_t threads_ = nullptr;
  int64_t channels_ = 0;
  uint32_t num_staged_ = 0;
  Staged staged_[3];
  Staged result_;
  const float* input_ = nullptr;  // the first input
  Operand inputs_[3];
  bool has_finite_constants_ = true;
};

}  // namespace

Result<Step*> make_library_step(const Graph& graph, const Node& node, const Operand* operands,
                                MemoryAllocator& allocator) {
  const Row* row = find_row(node.kind);
  if (row == nullptr || (node.has_bounds && !row->has_bounds)) {
    return fail(Error::NotSupported, "the linked XNNPACK library has no operator for a %s", name_of(node.kind));
  }
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    if ((row->constants & 1u << i) != 0 && node.inputs[i] != kNone && !graph.values[node.inputs[i]].constant) {
      return fail(Error::NotSupported, "XNNPACK needs a constant as input %u of a %s", i, name_of(node.kind));
    }
  }
  void* memory = allocator.allocate(sizeof(LibraryStep), alignof(LibraryStep));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  LibraryStep* step = new (memory) LibraryStep(graph, node, *row);
  const Error error = step->create(operands);
  if (error == Error::Ok) return static_cast<Step*>(step);
  step->~LibraryStep();
  return error;
}

bool initialize_library() { return xnn_initialize(nullptr) == xnn_status_success; }

}  // namespace rushlight::xnnpack
