#include "backends/xnnpack/executor.h"

#include <cstring>
#include <new>

#include "backends/xnnpack/fuse.h"
#include "backends/xnnpack/shapes.h"
#include "core/poison.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

constexpr size_t kBeyond = 16;  // bytes that XNNPACK may read behind an array
constexpr uintptr_t kPage = 4096;

// Whether the bytes behind an array may be inaccessible.
bool ends_with_page(const void* data, size_t size) {
  const uintptr_t last = reinterpret_cast<uintptr_t>(data) + size - 1;
  return last / kPage != (last + kBeyond) / kPage;
}

// The tensor's sizes in the order of its memory; a scalar has one.
bool shape_in_memory(const Tensor& tensor, Shape* shape) {
  if (tensor.dim() > static_cast<int64_t>(kMaxRank)) return false;
  shape->rank = static_cast<uint32_t>(tensor.dim());
  for (uint32_t i = 0; i < shape->rank; ++i) shape->dims[i] = tensor.size(tensor.dim_order()[i]);
  return true;
}

}  // namespace

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
  roots_ = make_array<uint32_t>(allocator, count);
  staging_ = make_array<uint8_t*>(allocator, count);
  RL_REQUIRE(operands_ && shapes_ && capacities_ && roots_ && staging_, MemoryAllocationFailed,
             "no memory for %zu values", count);
  for (size_t i = 0; i < count; ++i) {
    const Value& value = graph_->values[i];
    operands_[i].shape = shapes_[i] = value.shape;
    operands_[i].dtype = value.dtype;
    if (value.quantization.by == Quantization::By::Row) operands_[i].row_dims = value.quantization.group;
    operands_[i].data = const_cast<void*>(value.constant);
    roots_[i] = static_cast<uint32_t>(i);
  }
  DelegateOperator failed;
  RL_TRY(infer_shapes(shapes_, &failed));
  for (size_t i = 0; i < count; ++i) operands_[i].shape = shapes_[i];
  RL_TRY(fuse(graph_, shapes_, options, allocator));
  threads_ = shared_threads(thread_count);
  find_aliases();
  RL_TRY(make_steps(options, thread_count, allocator));
  RL_TRY(plan(allocator));
  RL_TRY(keep_readable(allocator));
  release_packed();
  return Error::Ok;
}

Error Executor::infer_shapes(Shape* shapes, DelegateOperator* failed) const {
  for (const Node& node : graph_->nodes) {
    failed->number = node.debug_handle;
    RL_TRY(infer_shape(*graph_, node, shapes));
    const Shape& declared = graph_->values[node.output].shape;
    RL_REQUIRE(shapes[node.output].numel() <= declared.numel(), InvalidProgram,
               "value %u, computed by a %s, has %lld elements where %lld are declared", node.output, name_of(node.kind),
               static_cast<long long>(shapes[node.output].numel()), static_cast<long long>(declared.numel()));
  }
  return Error::Ok;
}

uint32_t Executor::root_of(uint32_t id) const {
  while (roots_[id] != id) id = roots_[id];
  return id;
}

// A reshape or a copy needs no work if its result may lie in its input's memory, or the input in that of the result.
void Executor::find_aliases() {
  for (const Node& node : graph_->nodes) {
    if (node.kind != Kind::XNNStaticReshape && node.kind != Kind::XNNCopy) continue;
    const uint32_t in = root_of(node.inputs[0]);
    const Value& source = graph_->values[in];
    if (source.dtype != graph_->values[node.output].dtype) continue;
    if (graph_->values[node.output].argument == kNone) {
      roots_[node.output] = in;
    } else if (source.argument == kNone && source.constant == nullptr) {
      roots_[in] = node.output;
    }
  }
}

Error Executor::make_steps(const Options& options, size_t thread_count, MemoryAllocator& allocator) {
  Step** steps = allocator.allocate_array<Step*>(graph_->nodes.size());
  RL_REQUIRE(steps || graph_->nodes.empty(), MemoryAllocationFailed, "no memory for %zu steps", graph_->nodes.size());
  size_t count = 0;
  for (const Node& node : graph_->nodes) {
    const bool is_alias = (node.kind == Kind::XNNStaticReshape || node.kind == Kind::XNNCopy) &&
                          root_of(node.inputs[0]) == root_of(node.output);
    if (is_alias) continue;
    RL_ASSIGN(steps[count], make_step(*graph_, node, operands_, options, thread_count, allocator));
    steps_ = {steps, ++count};
  }
  return Error::Ok;
}

Error Executor::plan(MemoryAllocator& allocator) {
  const uint32_t num_values = static_cast<uint32_t>(graph_->values.size());
  const uint32_t num_steps = static_cast<uint32_t>(steps_.size());
  const uint32_t end = num_steps == 0 ? 0 : num_steps - 1;
  // One slot a value, one a step for scratch, one a value for staging; those without a size are skipped.
  const uint32_t most = 2 * num_values + num_steps;
  Slot* slots = make_array<Slot>(allocator, most);
  uint8_t*** targets = allocator.allocate_array<uint8_t**>(most);
  uint32_t* slot_of = make_array<uint32_t>(allocator, num_values);
  scratch_ = make_array<uint8_t*>(allocator, num_steps);
  RL_REQUIRE(slots && targets && slot_of && scratch_, MemoryAllocationFailed, "no memory to plan %u values",
             num_values);
  uint32_t count = 0;
  for (uint32_t i = 0; i < num_values; ++i) slot_of[i] = kNone;
  for (uint32_t s = 0; s < num_steps; ++s) {
    const Node& node = steps_[s]->node();
    uint32_t used[6] = {root_of(node.output)};
    uint32_t num_used = 1;
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      if (node.inputs[i] != kNone) used[num_used++] = root_of(node.inputs[i]);
    }
    for (uint32_t i = 0; i < num_used; ++i) {
      const Value& value = graph_->values[used[i]];
      if (value.constant) continue;
      if (value.argument != kNone) {
        if (!value.is_input || !steps_[s]->reads_beyond() || slot_of[used[i]] != kNone) continue;
        slot_of[used[i]] = count;
        targets[count] = &staging_[used[i]];
        slots[count++] = {operands_[used[i]].nbytes() + kBeyond, 0, end, 0};
        continue;
      }
      if (slot_of[used[i]] == kNone) {
        slot_of[used[i]] = count;
        targets[count] = reinterpret_cast<uint8_t**>(&operands_[used[i]].data);
        capacities_[used[i]] = operands_[used[i]].nbytes();
        slots[count++] = {operands_[used[i]].nbytes() + kBeyond, s, s, 0};
      }
      slots[slot_of[used[i]]].last = s;
    }
    if (const size_t bytes = steps_[s]->scratch_bytes(operands_); bytes > 0) {
      targets[count] = &scratch_[s];
      slots[count++] = {bytes, s, s, 0};
    }
  }
  size_t total = 0;
  RL_TRY(place(slots, count, allocator, &total));
  uint8_t* workspace = static_cast<uint8_t*>(allocator.allocate(total + kBeyond, 64));
  RL_REQUIRE(workspace != nullptr, MemoryAllocationFailed, "no memory for a workspace of %zu bytes", total);
  for (uint32_t i = 0; i < count; ++i) *targets[i] = workspace + slots[i].offset;
  return Error::Ok;
}

// Constants that XNNPACK reads in place must not end where their page does.
Error Executor::keep_readable(MemoryAllocator& allocator) {
  for (const Step* step : steps_) {
    const Node& node = step->node();
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      if (node.inputs[i] == kNone || !step->reads_beyond() || !step->reads(i)) continue;
      Operand& operand = operands_[root_of(node.inputs[i])];
      if (!graph_->values[root_of(node.inputs[i])].constant || !ends_with_page(operand.data, operand.nbytes()))
        continue;
      void* copy = allocator.allocate(operand.nbytes() + kBeyond, 16);
      RL_REQUIRE(copy != nullptr, MemoryAllocationFailed, "no memory for a constant");
      std::memcpy(copy, operand.data, operand.nbytes());
      operand.data = copy;
    }
  }
  return Error::Ok;
}

void Executor::release_packed() const {
  for (FreeableBuffer& buffer : graph_->constants) {
    const uint8_t* begin = static_cast<const uint8_t*>(buffer.data());
    const uint8_t* end = begin + buffer.size();
    bool is_read = false;
    for (const Step* step : steps_) {
      const Node& node = step->node();
      for (uint32_t i = 0; i < node.num_inputs && !is_read; ++i) {
        if (node.inputs[i] == kNone) continue;
        const uint8_t* data = static_cast<const uint8_t*>(operands_[root_of(node.inputs[i])].data);
        is_read = data >= begin && data < end && step->reads(i);
      }
    }
    if (!is_read) buffer.release();
  }
}

bool Executor::is_used_before(const Step& step, uint32_t root) const {
  for (const Step* other : steps_) {
    if (other == &step) return false;
    const Node& node = other->node();
    bool uses = root_of(node.output) == root;
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      uses = uses || (node.inputs[i] != kNone && root_of(node.inputs[i]) == root);
    }
    if (uses) return true;
  }
  return false;
}

void Executor::poison_before(const Step& step) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i] == &step) poison(scratch_[i], step.scratch_bytes(operands_), ScalarType::Float);
  }
  const uint32_t root = root_of(step.node().output);
  const Operand& operand = operands_[root];
  if (graph_->values[root].is_input || is_used_before(step, root)) return;
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Operand& input = operands_[i];
    if (graph_->values[i].is_input && overlap(operand.data, operand.nbytes(), input.data, input.nbytes())) return;
  }
  poison(operand.data, operand.nbytes(), operand.dtype);
}

Error Executor::execute(BackendExecutionContext& context, Span<EValue* const> arguments) {
  RL_REQUIRE(arguments.size() >= graph_->num_arguments, InvalidArgument, "the delegate has %u arguments, %zu are given",
             graph_->num_arguments, arguments.size());
  RL_TRY(take_inputs(arguments));
  if (has_new_shapes_) RL_TRY(update_shapes(&context.failed));
  RL_TRY(take_outputs(arguments));
  if (is_changed_) RL_TRY(set_up(&context.failed));
  KernelRuntimeContext kernels(context.temporary, context.threads, nullptr);
  for (Step* step : steps_) {
    if constexpr (kPoisons) poison_before(*step);
    const uint64_t start = context.tracer ? platform::now_ns() : 0;
    const Error error = step->run(kernels);
    if (error != Error::Ok) {
      const char* reason = last_error_message();
      char text[400];
      std::strncpy(text, reason, sizeof(text) - 1);
      text[sizeof(text) - 1] = 0;
      context.failed.number = step->node().debug_handle;
      return fail(error, "in a %s (debug handle %u): %s", name_of(step->node().kind), step->node().debug_handle, text);
    }
    if (context.temporary && context.temporary->used() > 0) context.temporary->reset();
    if (context.tracer) {
      EventId id = context.event;
      id.kind = EventKind::DelegateOperator;
      id.delegate_debug_id = step->node().debug_handle;
      context.tracer->log_delegate_event(id, name_of(step->node().kind), start, platform::now_ns());
    }
  }
  return Error::Ok;
}

Error Executor::take_inputs(Span<EValue* const> arguments) {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Value& value = graph_->values[i];
    if (!value.is_input) continue;
    const EValue& argument = *arguments[value.argument];
    RL_REQUIRE(argument.is_tensor(), InvalidArgument, "argument %u of the delegate is no tensor", value.argument);
    const Tensor tensor = argument.to_tensor();
    RL_REQUIRE(tensor.scalar_type() == value.dtype, InvalidArgument, "argument %u of the delegate is %s, not %s",
               value.argument, dtype_name(tensor.scalar_type()), dtype_name(value.dtype));
    Shape shape;
    RL_REQUIRE(shape_in_memory(tensor, &shape), InvalidArgument, "argument %u of the delegate has %d dimensions",
               value.argument, static_cast<int>(tensor.dim()));
    if (shape.rank == 0 && value.shape.rank == 1) shape = Shape{1, {1}};
    RL_REQUIRE(
        shape.rank == value.shape.rank && check_shape(shape) == Error::Ok && shape.numel() <= value.shape.numel(),
        InvalidArgument, "argument %u of the delegate is empty or larger than planned for", value.argument);
    Operand& operand = operands_[i];
    if (shape != operand.shape) {
      operand.shape = shape;
      has_new_shapes_ = is_changed_ = true;
    }
    void* data = tensor.mutable_data_ptr();
    if (staging_[i] && ends_with_page(data, operand.nbytes())) {
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
               "value %zu of the delegate becomes larger than planned for", i);
  }
  has_new_shapes_ = false;
  return Error::Ok;
}

Error Executor::take_outputs(Span<EValue* const> arguments) {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Value& value = graph_->values[i];
    if (!value.is_output) continue;
    const EValue& argument = *arguments[value.argument];
    RL_REQUIRE(argument.is_tensor(), InvalidArgument, "argument %u of the delegate is no tensor", value.argument);
    const Tensor tensor = argument.to_tensor();
    RL_REQUIRE(tensor.scalar_type() == value.dtype, InvalidArgument, "output %u of the delegate is %s, not %s",
               value.argument, dtype_name(tensor.scalar_type()), dtype_name(value.dtype));
    const Shape& shape = operands_[i].shape;
    if (!(tensor.dim() == 0 && shape.numel() == 1)) {
      RL_REQUIRE(tensor.dim() == static_cast<int64_t>(shape.rank), InvalidArgument,
                 "output %u of the delegate has %d dimensions, not %u", value.argument, static_cast<int>(tensor.dim()),
                 shape.rank);
      SizesType sizes[kMaxRank];
      for (uint32_t axis = 0; axis < shape.rank; ++axis) {
        sizes[tensor.dim_order()[axis]] = static_cast<SizesType>(shape.dims[axis]);
      }
      RL_TRY(resize_tensor(tensor, {sizes, shape.rank}));
    }
    if (tensor.mutable_data_ptr() != operands_[i].data) {
      operands_[i].data = tensor.mutable_data_ptr();
      is_changed_ = true;
    }
  }
  return Error::Ok;
}

Error Executor::set_up(DelegateOperator* failed) {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const uint32_t root = root_of(static_cast<uint32_t>(i));
    if (root != i) operands_[i].data = operands_[root].data;
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    failed->number = steps_[i]->node().debug_handle;
    RL_TRY(steps_[i]->setup(operands_, scratch_[i], threads_));
  }
  *failed = {};
  is_changed_ = false;
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
