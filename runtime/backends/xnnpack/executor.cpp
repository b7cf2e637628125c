#include "backends/xnnpack/executor.h"

#include <cstring>
#include <new>

#include "backends/xnnpack/convert.h"
#include "backends/xnnpack/fuse.h"
#include "backends/xnnpack/shapes.h"
#include "core/make_array.h"
#include "core/poison.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

constexpr size_t kReadMargin = 16;  // bytes after the end of an array that XNNPACK may read
constexpr uintptr_t kPage = 4096;

// Whether the bytes after an array may be inaccessible, because they are in the next page.
bool ends_at_page_end(const void* data, size_t size) {
  const uintptr_t last = reinterpret_cast<uintptr_t>(data) + size - 1;
  return last / kPage != (last + kReadMargin) / kPage;
}

// Sets `axes` to the order of axes in the payload: 0, 2, 3, 1 for a tensor of four dimensions with channels-last dim
// order, else 0, 1, 2, ... Axes of size 1 do not change the memory layout.
Error find_axes(const Tensor& tensor, uint32_t axes[kMaxRank]) {
  static constexpr uint32_t kChannelsLast[] = {0, 2, 3, 1};
  const Span<const DimOrderType> order = tensor.dim_order();
  RL_REQUIRE(order.size() <= kMaxRank, InvalidArgument, "a tensor of the delegate has %zu dimensions, more than %u",
             order.size(), kMaxRank);
  bool is_last = order.size() == 4;
  for (uint32_t i = 0; i < order.size(); ++i) {
    is_last = is_last && order[i] == kChannelsLast[i];
    axes[i] = i;
  }
  if (is_last) {
    for (uint32_t i = 0; i < 4; ++i) axes[i] = kChannelsLast[i];
  }
  return Error::Ok;
}

// Whether the elements of a tensor with `sizes` are stored in the order `axes`, outermost first.
bool is_stored_in_order(const Tensor& tensor, const uint32_t* axes, const int64_t* sizes) {
  const Span<const DimOrderType> order = tensor.dim_order();
  uint32_t at = 0;
  for (const DimOrderType axis : order) {
    if (sizes[axis] == 1) continue;
    while (at < order.size() && sizes[axes[at]] == 1) ++at;
    if (axes[at++] != axis) return false;
  }
  return true;
}

// Sets `shape` to the shape of an argument in the axis order of the payload.
Error read_shape(const Tensor& tensor, uint32_t argument, Shape* shape) {
  uint32_t axes[kMaxRank];
  int64_t sizes[kMaxRank];
  RL_TRY(find_axes(tensor, axes));
  shape->rank = static_cast<uint32_t>(tensor.dim());
  for (uint32_t i = 0; i < shape->rank; ++i) {
    sizes[i] = tensor.size(i);
    shape->dims[i] = tensor.size(axes[i]);
  }
  RL_REQUIRE(is_stored_in_order(tensor, axes, sizes), InvalidArgument,
             "argument %u of the delegate is neither contiguous nor channels-last", argument);
  return Error::Ok;
}

// Resizes an output to `shape`, which is in the axis order of the payload.
Error resize_output(const Tensor& tensor, uint32_t argument, const Shape& shape) {
  uint32_t axes[kMaxRank];
  int64_t sizes[kMaxRank];
  SizesType new_sizes[kMaxRank];
  RL_TRY(find_axes(tensor, axes));
  for (uint32_t i = 0; i < shape.rank; ++i) {
    sizes[axes[i]] = shape.dims[i];
    new_sizes[axes[i]] = static_cast<SizesType>(shape.dims[i]);
  }
  RL_REQUIRE(is_stored_in_order(tensor, axes, sizes), InvalidArgument,
             "output %u of the delegate is neither contiguous nor channels-last", argument);
  return resize_tensor(tensor, {new_sizes, shape.rank});
}

}  // namespace

// The slots of the workspace and the accesses to them, while the workspace is planned.
class Executor::WorkspaceSlots {
 public:
  // Allocates a slot for each value (workspace or staging) and for each step (scratch).
  Error allocate(size_t num_values, size_t num_steps, size_t num_uses, MemoryAllocator& allocator) {
    const size_t most = num_values + num_steps;
    slots_ = make_array<Slot>(allocator, most);
    targets_ = allocator.allocate_array<uint8_t**>(most);
    slot_of_ = make_array<uint32_t>(allocator, num_values);
    accesses_ = make_array<Access>(allocator, num_uses + most);
    RL_REQUIRE(slots_ && targets_ && slot_of_ && accesses_, MemoryAllocationFailed, "no memory to plan %zu values",
               num_values);
    for (size_t i = 0; i < num_values; ++i) slot_of_[i] = kNone;
    return Error::Ok;
  }

  bool has_value(uint32_t value) const { return slot_of_[value] != kNone; }

  // Adds a slot of `size` bytes, which is used from step `first` on. place() sets *target to its address.
  void add_value(uint32_t value, size_t size, uint32_t first, uint8_t** target) {
    slot_of_[value] = add(size, first, target);
  }

  // Records that a step accesses the slot of a value.
  void access(uint32_t value, uint32_t step, bool writes) {
    slots_[slot_of_[value]].last = step;
    accesses_[num_accesses_++] = {step, slot_of_[value], writes};
  }

  // Adds a slot that only `step` uses.
  void add_scratch(size_t size, uint32_t step, uint8_t** target) {
    accesses_[num_accesses_++] = {step, add(size, step, target), true};
  }

  // Places and checks the slots, allocates the workspace and sets the addresses of all slots.
  Error place(MemoryAllocator& allocator) const {
    size_t total = 0;
    RL_TRY(xnnpack::place(slots_, count_, allocator, &total));
    RL_TRY(check_places({slots_, count_}, {accesses_, num_accesses_}, total, allocator));
    uint8_t* workspace = static_cast<uint8_t*>(allocator.allocate(total + kReadMargin, 64));
    RL_REQUIRE(workspace != nullptr, MemoryAllocationFailed, "no memory for a workspace of %zu bytes", total);
    for (uint32_t i = 0; i < count_; ++i) *targets_[i] = workspace + slots_[i].offset;
    return Error::Ok;
  }

 private:
  uint32_t add(size_t size, uint32_t step, uint8_t** target) {
    slots_[count_] = {size, step, step, 0};
    targets_[count_] = target;
    return count_++;
  }

  Slot* slots_ = nullptr;
  uint8_t*** targets_ = nullptr;  // [slots], where place() stores the address
  uint32_t* slot_of_ = nullptr;   // [values], kNone for a value without a slot
  Access* accesses_ = nullptr;    // in the order of the steps
  uint32_t count_ = 0;
  size_t num_accesses_ = 0;
};

Result<Executor*> Executor::make(Graph* graph, const Options& options, size_t thread_count,
                                 MemoryAllocator& allocator) {
  void* memory = allocator.allocate(sizeof(Executor), alignof(Executor));
  if (memory == nullptr) {
    graph->~Graph();
    return fail(Error::MemoryAllocationFailed, "no memory for an executor");
  }
  Executor* executor = new (memory) Executor(graph);
  const Error error = executor->build(options, thread_count, allocator);
  if (error == Error::Ok) return executor;
  executor->~Executor();
  return error;
}

Executor::~Executor() {
  for (Step* step : steps_) step->~Step();
  graph_->~Graph();
}

Error Executor::build(const Options& options, size_t thread_count, MemoryAllocator& allocator) {
  const size_t count = graph_->values.size();
  operands_ = make_array<Operand>(allocator, count);
  shapes_ = make_array<Shape>(allocator, count);
  capacities_ = make_array<size_t>(allocator, count);
  staging_ = make_array<uint8_t*>(allocator, count);
  RL_REQUIRE(operands_ && shapes_ && capacities_ && staging_, MemoryAllocationFailed, "no memory for %zu values",
             count);
  for (size_t i = 0; i < count; ++i) {
    const Value& value = graph_->values[i];
    operands_[i].shape = shapes_[i] = value.shape;
    operands_[i].dtype = value.dtype;
    if (value.quantization.by == Quantization::By::Row) operands_[i].row_dims = value.quantization.group;
    operands_[i].data = const_cast<void*>(value.constant);
  }
  DelegateOperator failed;
  RL_TRY(infer_shapes(shapes_, &failed));
  for (size_t i = 0; i < count; ++i) {
    RL_REQUIRE(operands_[i].row_dims <= shapes_[i].rank, InvalidProgram,
               "value %zu has scales for rows of %u dimensions, but its operator computes %u dimensions", i,
               operands_[i].row_dims, shapes_[i].rank);
  }
  for (size_t i = 0; i < count; ++i) operands_[i].shape = shapes_[i];
  RL_TRY(fuse(graph_, shapes_, options, allocator));
  threads_ = shared_threads(thread_count);
  RL_TRY(storage_.find_views(*graph_, allocator));
  RL_TRY(make_steps(options, thread_count, allocator));
  RL_TRY(storage_.find_uses(steps_, allocator));
  RL_TRY(plan(allocator));
  RL_TRY(copy_unpadded_constants(allocator));
  release_packed();
  return Error::Ok;
}

Error Executor::infer_shapes(Shape* shapes, DelegateOperator* failed) const {
  for (const Node& node : graph_->nodes) {
    failed->number = node.debug_handle;
    RL_TRY(infer_shape(*graph_, node, shapes));
    const Shape& declared = graph_->values[node.output].shape;
    RL_REQUIRE(shapes[node.output].numel() <= declared.numel(), InvalidProgram,
               "value %u, the result of a %s, has %lld elements, but the payload declares %lld", node.output,
               name_of(node.kind), static_cast<long long>(shapes[node.output].numel()),
               static_cast<long long>(declared.numel()));
  }
  return Error::Ok;
}

Error Executor::make_steps(const Options& options, size_t thread_count, MemoryAllocator& allocator) {
  Step** steps = allocator.allocate_array<Step*>(graph_->nodes.size());
  RL_REQUIRE(steps || graph_->nodes.empty(), MemoryAllocationFailed, "no memory for %zu steps", graph_->nodes.size());
  size_t count = 0;
  for (const Node& node : graph_->nodes) {
    if (storage_.is_view(node)) continue;
    RL_ASSIGN(steps[count], make_step(*graph_, node, operands_, options, thread_count, allocator));
    steps_ = {steps, ++count};
  }
  return Error::Ok;
}

Error Executor::plan(MemoryAllocator& allocator) {
  const size_t num_values = graph_->values.size(), num_steps = steps_.size();
  scratch_ = make_array<uint8_t*>(allocator, num_steps);
  scratch_sizes_ = make_array<size_t>(allocator, num_steps);
  RL_REQUIRE(scratch_ && scratch_sizes_, MemoryAllocationFailed, "no memory to plan %zu steps", num_steps);
  WorkspaceSlots slots;
  RL_TRY(slots.allocate(num_values, num_steps, storage_.uses().size(), allocator));
  add_staging(slots);
  add_values_and_scratch(slots);
  return slots.place(allocator);
}

// Adds staging memory for inputs that may have no readable bytes after their end. They are copied before the first
// step.
void Executor::add_staging(WorkspaceSlots& slots) {
  for (const Use& use : storage_.uses()) {
    if (!graph_->values[use.root].is_input || !use.past_end || slots.has_value(use.root)) continue;
    slots.add_value(use.root, operands_[use.root].nbytes() + kReadMargin, 0, &staging_[use.root]);
    slots.access(use.root, 0, true);
  }
}

void Executor::add_values_and_scratch(WorkspaceSlots& slots) {
  const Span<const Use> uses = storage_.uses();
  for (uint32_t step = 0, at = 0; step < steps_.size(); ++step) {
    for (; at < uses.size() && uses[at].step == step; ++at) {
      const uint32_t root = uses[at].root;
      if (!slots.has_value(root)) {
        if (!storage_.is_in_workspace(root)) continue;
        capacities_[root] = operands_[root].nbytes();
        slots.add_value(root, capacities_[root] + kReadMargin, step,
                        reinterpret_cast<uint8_t**>(&operands_[root].data));
      }
      slots.access(root, step, uses[at].writes);
    }
    scratch_sizes_[step] = steps_[step]->scratch_bytes(operands_);
    if (scratch_sizes_[step] > 0) slots.add_scratch(scratch_sizes_[step], step, &scratch_[step]);
  }
}

// Copies constants that end at the end of a page, if XNNPACK may read bytes after them.
Error Executor::copy_unpadded_constants(MemoryAllocator& allocator) {
  for (const Use& use : storage_.uses()) {
    Operand& operand = operands_[use.root];
    const bool is_constant = graph_->values[use.root].constant != nullptr;
    if (!use.past_end || !is_constant || !ends_at_page_end(operand.data, operand.nbytes())) continue;
    void* copy = allocator.allocate(operand.nbytes() + kReadMargin, 16);
    RL_REQUIRE(copy != nullptr, MemoryAllocationFailed, "no memory for a constant");
    std::memcpy(copy, operand.data, operand.nbytes());
    operand.data = copy;
  }
  return Error::Ok;
}

void Executor::release_packed() const {
  for (FreeableBuffer& buffer : graph_->constants) {
    const uint8_t* begin = static_cast<const uint8_t*>(buffer.data());
    const uint8_t* end = begin + buffer.size();
    bool is_read = false;
    for (const Use& use : storage_.uses()) {
      const uint8_t* data = static_cast<const uint8_t*>(operands_[use.root].data);
      is_read = is_read || (!use.writes && data >= begin && data < end);
    }
    if (!is_read) buffer.Free();
  }
}

void Executor::poison_before(size_t step) {
  poison(scratch_[step], scratch_sizes_[step], ScalarType::Float);
  const uint32_t root = storage_.root_of(steps_[step]->node().output);
  for (const Use& use : storage_.uses()) {
    if (use.step < step && use.root == root) return;
  }
  const Operand& operand = operands_[root];
  if (graph_->values[root].is_input) return;
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Operand& input = operands_[i];
    if (graph_->values[i].is_input && overlap(operand.data, operand.nbytes(), input.data, input.nbytes())) return;
  }
  poison(operand.data, operand.nbytes(), operand.dtype);
}

void Executor::trace_end(const Step& step, const EventTracerEntry& entry, EventTracer& tracer,
                         const MemoryAllocator* temporary) const {
  const Node& node = step.node();
  tracer.end_profiling(entry, {reinterpret_cast<const uint8_t*>(node.folded), node.num_folded * sizeof(uint32_t)});
  if (temporary && temporary->used() > 0) {
    tracer.track_allocation(tracer.track_allocator(kTemporaryAllocator), temporary->used());
  }
  if (!tracer.wants_intermediate_outputs() || node.output == kNone) return;
  const Operand& result = operands_[node.output];
  SizesType sizes[kMaxRank];
  StridesType strides[kMaxRank];
  int64_t stride = 1;
  for (uint32_t i = result.shape.rank; i-- > 0; stride *= result.shape.dims[i]) {
    sizes[i] = static_cast<SizesType>(result.shape.dims[i]);
    strides[i] = static_cast<StridesType>(stride);
  }
  TensorImpl tensor;
  tensor.data = result.data;
  tensor.sizes = sizes;
  tensor.strides = strides;
  tensor.numel = result.numel();
  tensor.dtype = result.dtype;
  tensor.dim = static_cast<uint8_t>(result.shape.rank);
  tracer.log_evalue(entry.id, entry.name, EValue(&tensor), LoggedEValueType::IntermediateOutput);
}

Error Executor::execute(BackendExecutionContext& context, Span<EValue* const> arguments) {
  RL_REQUIRE(arguments.size() >= graph_->num_arguments, InvalidArgument,
             "the delegate has %u arguments, but the caller passes %zu", graph_->num_arguments, arguments.size());
  RL_TRY(bind_inputs(arguments));
  if (has_new_shapes_) RL_TRY(update_shapes(&context.failed));
  RL_TRY(bind_outputs(arguments));
  if (is_changed_) RL_TRY(set_up(&context.failed));
  KernelRuntimeContext kernels(context.temporary, context.threads, nullptr);
  EventTracer* const tracer = enabled_tracer(context.tracer);
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step* step = steps_[i];
    if (is_idle(*step)) continue;
    if constexpr (kPoisons) poison_before(i);
    EventTracerEntry entry;
    if (tracer) {
      entry = tracer->start_profiling(context.operator_event(step->node().debug_handle), name_of(step->node().kind));
    }
    const Error error = is_filled(*step) ? fill(*step) : run(*step, scratch_sizes_[i], kernels);
    if (error != Error::Ok) {
      const char* reason = last_error_message();
      char text[400];
      std::strncpy(text, reason, sizeof(text) - 1);
      text[sizeof(text) - 1] = 0;
      context.failed.number = step->node().debug_handle;
      return fail(error, "in a %s (debug handle %u): %s", name_of(step->node().kind), step->node().debug_handle, text);
    }
    if (tracer) trace_end(*step, entry, *tracer, context.temporary);
    if (context.temporary && context.temporary->used() > 0) context.temporary->reset();
  }
  return Error::Ok;
}

Error Executor::run(Step& step, size_t planned, KernelRuntimeContext& kernels) {
  const size_t bytes = needs_temporary_ ? step.scratch_bytes(operands_) : 0;
  if (bytes > planned) {
    // A step may choose an algorithm for smaller shapes that needs more scratch memory than for the upper bounds.
    void* const scratch = kernels.allocate_temporary(bytes, 64);
    RL_REQUIRE(scratch != nullptr, MemoryAllocationFailed,
               "no temporary memory of %zu bytes, which these shapes need for scratch; the upper bounds of the shapes "
               "need only %zu",
               bytes, planned);
    RL_TRY(step.setup(operands_, scratch, threads_));
  }
  return step.run(kernels);
}

Error Executor::bind_inputs(Span<EValue* const> arguments) {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Value& value = graph_->values[i];
    if (!value.is_input) continue;
    const EValue& argument = *arguments[value.argument];
    RL_REQUIRE(argument.is_tensor(), InvalidArgument, "argument %u of the delegate is not a tensor", value.argument);
    const Tensor tensor = argument.to_tensor();
    RL_REQUIRE(tensor.scalar_type() == value.dtype, InvalidArgument, "argument %u of the delegate is %s, not %s",
               value.argument, dtype_name(tensor.scalar_type()), dtype_name(value.dtype));
    Shape shape;
    RL_TRY(read_shape(tensor, value.argument, &shape));
    if (shape.rank == 0 && value.shape.rank == 1) shape = Shape{1, {1}};
    RL_REQUIRE(
        shape.rank == value.shape.rank && check_shape(shape, true) == Error::Ok && shape.numel() <= value.shape.numel(),
        InvalidArgument,
        "argument %u of the delegate has another rank than the payload declares, or is larger than its upper bound",
        value.argument);
    Operand& operand = operands_[i];
    if (shape != operand.shape) {
      operand.shape = shape;
      has_new_shapes_ = is_changed_ = true;
    }
    void* data = tensor.mutable_data_ptr();
    if (staging_[i] && operand.nbytes() > 0 && ends_at_page_end(data, operand.nbytes())) {
      std::memcpy(staging_[i], data, operand.nbytes());
      data = staging_[i];
    }
    if (data != operand.data) {
      operand.data = data;
      is_changed_ = true;
    }
  }
  return Error::Ok;
}

bool Executor::is_idle(const Step& step) const { return operands_[step.node().output].numel() == 0; }

bool Executor::is_filled(const Step& step) const {
  return operands_[step.node().inputs[0]].numel() == 0 && fill_value(*graph_, step.node());
}

Error Executor::fill(const Step& step) const {
  const Operand& out = operands_[step.node().output];
  const float value = *fill_value(*graph_, step.node());
  const size_t size = element_size(out.dtype);
  uint8_t* to = static_cast<uint8_t*>(out.data);
  for (int64_t i = 0; i < out.numel(); ++i) from_float(out.dtype, &value, 1, to + static_cast<size_t>(i) * size);
  return Error::Ok;
}

Error Executor::update_shapes(DelegateOperator* failed) {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Value& value = graph_->values[i];
    shapes_[i] = value.is_input ? operands_[i].shape : value.shape;
  }
  RL_TRY(infer_shapes(shapes_, failed));
  *failed = {};
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    operands_[i].shape = shapes_[i];
    RL_REQUIRE(capacities_[i] == 0 || operands_[i].nbytes() <= capacities_[i], InvalidArgument,
               "value %zu of the delegate is larger than its planned memory", i);
  }
  has_new_shapes_ = false;
  return Error::Ok;
}

Error Executor::bind_outputs(Span<EValue* const> arguments) {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Value& value = graph_->values[i];
    if (!value.is_output) continue;
    const EValue& argument = *arguments[value.argument];
    RL_REQUIRE(argument.is_tensor(), InvalidArgument, "argument %u of the delegate is not a tensor", value.argument);
    const Tensor tensor = argument.to_tensor();
    RL_REQUIRE(tensor.scalar_type() == value.dtype, InvalidArgument, "output %u of the delegate is %s, not %s",
               value.argument, dtype_name(tensor.scalar_type()), dtype_name(value.dtype));
    const Shape& shape = operands_[i].shape;
    if (!(tensor.dim() == 0 && shape.numel() == 1)) {
      RL_REQUIRE(tensor.dim() == static_cast<int64_t>(shape.rank), InvalidArgument,
                 "output %u of the delegate has %d dimensions, not %u", value.argument, static_cast<int>(tensor.dim()),
                 shape.rank);
      RL_TRY(resize_output(tensor, value.argument, shape));
    }
    if (tensor.mutable_data_ptr() != operands_[i].data) {
      operands_[i].data = tensor.mutable_data_ptr();
      is_changed_ = true;
    }
  }
  return Error::Ok;
}

Error Executor::set_up(DelegateOperator* failed) {
  needs_temporary_ = false;
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const uint32_t root = storage_.root_of(static_cast<uint32_t>(i));
    if (root != i) operands_[i].data = operands_[root].data;
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (is_idle(*steps_[i]) || is_filled(*steps_[i])) continue;
    failed->number = steps_[i]->node().debug_handle;
    if (steps_[i]->scratch_bytes(operands_) > scratch_sizes_[i]) {
      needs_temporary_ = true;
    } else {
      RL_TRY(steps_[i]->setup(operands_, scratch_[i], threads_));
    }
  }
  *failed = {};
  is_changed_ = false;
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
