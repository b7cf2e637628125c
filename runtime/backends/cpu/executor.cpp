#include "backends/cpu/executor.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/make_array.h"
#include "core/poison.h"
#include "rushlight/platform/platform.h"

namespace rushlight::cpu {

namespace {

// Additional bytes after the arena, states and scratch memory, because steps may read a few bytes beyond the end of an
// array.
constexpr size_t kSlack = 64;
constexpr size_t kSlackFloats = kSlack / sizeof(float);

// Returns the declarations of the operands of a step's operation, and the name of the operation.
const flatbuffer::OperandList& operands_of(const schema::Step& step) {
  return schema::kOperationOperands[static_cast<size_t>(step.operation_type()) - 1];
}

}  // namespace

Result<Executor*> Executor::make(Plan* plan, const microkernels::F32Microkernels& kernels, int64_t workers,
                                 MemoryAllocator& allocator) {
  void* memory = allocator.allocate(sizeof(Executor), alignof(Executor));
  if (memory == nullptr) {
    plan->~Plan();
    return fail(Error::MemoryAllocationFailed, "no memory for an executor");
  }
  Executor* executor = new (memory) Executor(plan);
  const Error error = executor->build(kernels, workers, allocator);
  if (error == Error::Ok) return executor;
  executor->~Executor();
  return error;
}

Executor::~Executor() { plan_->~Plan(); }

Error Executor::build(const microkernels::F32Microkernels& kernels, int64_t workers, MemoryAllocator& allocator) {
  const schema::Plan& table = plan_->table;
  workers_ = workers;
  RL_TRY(allocate_tables(allocator));
  RL_TRY(place_storages(allocator));
  set_permissions();
  // The memory is allocated for the upper bounds of all symbols.
  for (uint32_t i = 0; i < symbols_.size(); ++i) symbols_[i] = table.symbols()[i].upper();
  RL_TRY(evaluate());
  RL_TRY(set_shapes());
  set_addresses();
  RL_TRY(make_steps(kernels, allocator));
  const Span<uint8_t> masks{make_array<uint8_t>(allocator, bases_.size()), bases_.size()};
  RL_REQUIRE(masks.data(), MemoryAllocationFailed, "no memory for the storages of a plan (%zu)", masks.size());
  choose_masks(masks);
  scratch_ = static_cast<float*>(allocator.allocate((scratch_floats_ + kSlackFloats) * sizeof(float), 64));
  RL_REQUIRE(scratch_ != nullptr, MemoryAllocationFailed, "no memory for %zu bytes of scratch",
             scratch_floats_ * sizeof(float));
  is_current_ = true;
  return Error::Ok;
}

Error Executor::allocate_tables(MemoryAllocator& allocator) {
  const schema::Plan& table = plan_->table;
  symbols_ = {make_array<int64_t>(allocator, table.symbols().size()), table.symbols().size()};
  expressions_ = {make_array<int64_t>(allocator, table.expressions().size()), table.expressions().size()};
  slots_ = {make_array<Binder::Slot>(allocator, table.values().size()), table.values().size()};
  bases_ = {make_array<uint8_t*>(allocator, table.storages().size()), table.storages().size()};
  lengths_ = {make_array<int64_t>(allocator, table.storages().size()), table.storages().size()};
  // The span has the steps that exist; make_steps() extends it.
  steps_ = Span<Step*>(make_array<Step*>(allocator, table.steps().size()), size_t{0});
  arena_ = static_cast<uint8_t*>(allocator.allocate(static_cast<size_t>(table.arena_bytes()) + kSlack, 64));
  const bool has_memory = symbols_.data() && expressions_.data() && slots_.data() && bases_.data() && lengths_.data() &&
                          steps_.data() && arena_;
  RL_REQUIRE(has_memory, MemoryAllocationFailed, "no memory for a plan with an arena of %llu bytes",
             static_cast<unsigned long long>(table.arena_bytes()));
  return Error::Ok;
}

Error Executor::place_storages(MemoryAllocator& allocator) {
  const auto storages = plan_->table.storages();
  for (uint32_t i = 0; i < storages.size(); ++i) {
    const schema::Storage storage = storages[i];
    lengths_[i] = static_cast<int64_t>(storage.bytes());
    if (storage.kind() == schema::StorageKind::ARENA) bases_[i] = arena_ + storage.offset();
    if (storage.kind() == schema::StorageKind::CONSTANT) {
      bases_[i] = static_cast<uint8_t*>(const_cast<void*>(plan_->constants[i].data()));
    }
    if (storage.kind() == schema::StorageKind::STATE) RL_TRY(make_state(i, allocator));
  }
  return Error::Ok;
}

void Executor::set_permissions() {
  const schema::Plan& table = plan_->table;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const schema::Storage storage = table.storages()[table.values()[i].storage()];
    const schema::StorageKind kind = storage.kind();
    slots_[i].is_constant = kind == schema::StorageKind::CONSTANT;
    slots_[i].is_arena = kind == schema::StorageKind::ARENA;
    const bool is_output = kind == schema::StorageKind::ARGUMENT && table.arguments()[storage.index()].is_output();
    slots_[i].is_writable = slots_[i].is_arena || kind == schema::StorageKind::STATE || is_output;
  }
}

Error Executor::make_steps(const microkernels::F32Microkernels& kernels, MemoryAllocator& allocator) {
  const schema::Plan& table = plan_->table;
  const Packing packing{table.vector_floats(), table.panel_floats()};
  for (uint32_t i = 0; i < table.steps().size(); ++i) {
    const schema::Step step = table.steps()[i];
    Binder binder(operands_of(step).name, slots_, kernels, packing, allocator);
    Result<Step*> made = make_step(step, binder);
    if (!made.ok()) return made.error();
    steps_ = {steps_.data(), i + 1};
    steps_[i] = *made;
    steps_[i]->debug_handle = step.debug_handle();
    RL_TRY(steps_[i]->prepare());
    scratch_floats_ = std::max(scratch_floats_, steps_[i]->scratch_floats(workers_));
  }
  return Error::Ok;
}

void Executor::choose_masks(Span<uint8_t> masks) {
  const schema::Plan& table = plan_->table;
  for (uint32_t i = 0; i < masks.size(); ++i) {
    masks[i] = table.storages()[i].kind() == schema::StorageKind::ARENA ? 0x80 : 0;
  }
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    for_each_value(i, [&](uint32_t value) {
      const View& view = slots_[value].view;
      const bool is_int8 = view.dtype == ScalarType::Char;
      if (!is_int8 || !steps_[i]->supports_unsigned(view)) masks[table.values()[value].storage()] = 0;
    });
  }
  for (uint32_t i = 0; i < slots_.size(); ++i) slots_[i].view.sign_mask = masks[table.values()[i].storage()];
}

Error Executor::make_state(uint32_t index, MemoryAllocator& allocator) {
  const size_t bytes = static_cast<size_t>(lengths_[index]);
  bases_[index] = static_cast<uint8_t*>(allocator.allocate(bytes + kSlack, 64));
  RL_REQUIRE(bases_[index] != nullptr, MemoryAllocationFailed, "no memory for %zu bytes of state", bytes);
  FreeableBuffer& first = plan_->constants[index];
  if (first.data() == nullptr) {
    std::memset(bases_[index], 0, bytes);
  } else {
    std::memcpy(bases_[index], first.data(), bytes);
    first.Free();
  }
  return Error::Ok;
}

Error Executor::reset_state(const NamedDataMap* named_data) {
  const auto storages = plan_->table.storages();
  for (uint32_t i = 0; i < storages.size(); ++i) {
    const schema::Storage storage = storages[i];
    if (storage.kind() != schema::StorageKind::STATE) continue;
    const size_t bytes = static_cast<size_t>(lengths_[i]);
    if (storage.name().empty()) {
      std::memset(bases_[i], 0, bytes);
    } else {
      RL_TRY(named_data->load_into(storage.name(), bases_[i], bytes));
    }
  }
  return Error::Ok;
}

Error Executor::evaluate() {
  const auto table = plan_->table.expressions();
  for (uint32_t i = 0; i < table.size(); ++i) {
    const auto code = table[i].code();
    ExpressionStack stack;
    for (uint32_t j = 0; j < code.size(); ++j) {
      if (code[j] == kConstantCode) {
        stack.push(code[++j]);
      } else if (code[j] == kSymbolCode) {
        stack.push(symbols_[static_cast<size_t>(code[++j])]);
      } else {
        RL_REQUIRE(stack.apply(kExpressionOps[code[j] - kFirstOperation]), InvalidProgram,
                   "expression %u of the plan cannot be computed: it overflows or divides by 0", i);
      }
    }
    expressions_[i] = stack.top();
  }
  return Error::Ok;
}

Error Executor::set_shapes() {
  const schema::Plan& table = plan_->table;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const schema::Value value = table.values()[i];
    View& view = slots_[i].view;
    view.dtype = static_cast<ScalarType>(value.dtype());
    view.rank = static_cast<int>(value.sizes().size());
    for (int d = 0; d < view.rank; ++d) {
      view.sizes[d] = expressions_[value.sizes()[static_cast<size_t>(d)]];
      view.strides[d] = expressions_[value.strides()[static_cast<size_t>(d)]];
    }
  }
  RL_TRY(set_argument_lengths());
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    RL_REQUIRE(fits_storage(i), InvalidProgram, "value %u of the plan extends beyond its storage", i);
  }
  return Error::Ok;
}

Error Executor::set_argument_lengths() {
  const schema::Plan& table = plan_->table;
  for (uint32_t i = 0; i < table.arguments().size(); ++i) {
    const uint32_t id = table.arguments()[i].value();
    if (id == kNone) continue;
    const View& view = slots_[id].view;
    int64_t bytes = static_cast<int64_t>(element_size(view.dtype));
    for (int d = 0; d < view.rank; ++d) {
      RL_REQUIRE(view.sizes[d] >= 0 && !__builtin_mul_overflow(bytes, view.sizes[d], &bytes), InvalidProgram,
                 "argument %u of the delegate is too large", i);
    }
    lengths_[table.values()[id].storage()] = bytes;
  }
  return Error::Ok;
}

bool Executor::fits_storage(uint32_t index) const {
  const View& view = slots_[index].view;
  const schema::Value value = plan_->table.values()[index];
  int64_t last = expressions_[value.offset()];  // the offset of the last element, in elements
  if (last < 0) return false;
  bool is_empty = false;
  int64_t count = 1;  // the product of the sizes, which steps compute without a check of overflow
  for (int d = 0; d < view.rank; ++d) {
    const int64_t size = view.sizes[d], stride = view.strides[d];
    if (size < 0 || size > INT32_MAX || stride < 0) return false;
    int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(size - 1, 0), stride, &reach)) return false;
    if (__builtin_add_overflow(last, reach, &last) || __builtin_mul_overflow(count, size, &count)) return false;
    is_empty = is_empty || size == 0;
  }
  return is_empty || last < lengths_[value.storage()] / static_cast<int64_t>(element_size(view.dtype));
}

void Executor::set_addresses() {
  const auto values = plan_->table.values();
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const schema::Value value = values[i];
    uint8_t* const base = bases_[value.storage()];  // null for an argument without elements
    View& view = slots_[i].view;
    // The offset of a view without elements may be outside of the storage.
    const int64_t first = view.numel() == 0 ? 0 : expressions_[value.offset()];
    const int64_t offset = first * static_cast<int64_t>(element_size(view.dtype));
    view.data = base == nullptr ? nullptr : base + offset;
  }
}

namespace {

// Computes number XOR sign_mask for the int8 numbers of a view, which converts between their stored form and their
// values.
void apply_sign_mask(const View& view) {
  if (view.sign_mask == 0) return;
  uint8_t* data = static_cast<uint8_t*>(view.data);
  const int64_t count = view.numel();
  for (int64_t i = 0; i < count; ++i) data[view.offset_of(i, 0, view.rank)] ^= view.sign_mask;
}

// Returns the error of a step with the step's name before its message. Records the failed step in `context`.
Error fail_in(const Step& step, Error error, BackendExecutionContext& context) {
  char text[400];
  std::strncpy(text, last_error_message(), sizeof(text) - 1);
  text[sizeof(text) - 1] = 0;
  context.failed.number = step.debug_handle;
  return fail(error, "in a %s (debug handle %u): %s", step.name(), step.debug_handle, text);
}

}  // namespace

Error Executor::update(BackendExecutionContext& context) {
  RL_TRY(evaluate());
  RL_TRY(set_shapes());
  needed_floats_ = 0;
  for (Step* step : steps_) {
    if (const Error error = step->prepare(); error != Error::Ok) return fail_in(*step, error, context);
    needed_floats_ = std::max(needed_floats_, step->scratch_floats(workers_));
  }
  return Error::Ok;
}

Error Executor::read_symbols(Span<EValue* const> arguments) {
  const schema::Plan& table = plan_->table;
  for (uint32_t i = 0; i < symbols_.size(); ++i) {
    const schema::Symbol symbol = table.symbols()[i];
    const EValue& argument = *arguments[symbol.argument()];
    int64_t size = 0;
    if (symbol.axis() < 0) {
      RL_REQUIRE(argument.tag == Tag::Int, InvalidArgument, "argument %u of the delegate is not an int",
                 symbol.argument());
      size = argument.to_int();
    } else {
      RL_REQUIRE(argument.is_tensor() && symbol.axis() < argument.to_tensor().dim(), InvalidArgument,
                 "argument %u of the delegate has no dimension %d", symbol.argument(), symbol.axis());
      size = argument.to_tensor().size(symbol.axis());
    }
    const int64_t value = (size - symbol.shift()) / symbol.factor();
    const int64_t planned = value * symbol.factor() + symbol.shift();  // a negative size means 0
    RL_REQUIRE(value >= symbol.lower() && value <= symbol.upper() && std::max<int64_t>(planned, 0) == size,
               InvalidArgument,
               "argument %u of the delegate has size %lld in dimension %d, which is not one of the sizes that the "
               "program declares",
               symbol.argument(), static_cast<long long>(size), symbol.axis());
    if (symbols_[i] != value) {
      symbols_[i] = value;
      is_current_ = false;
    }
  }
  return Error::Ok;
}

Error Executor::bind_argument(uint32_t index, const Tensor& tensor) {
  const schema::Argument argument = plan_->table.arguments()[index];
  const View& view = slots_[argument.value()].view;
  RL_REQUIRE(tensor.scalar_type() == view.dtype && tensor.dim() == view.rank, InvalidArgument,
             "argument %u of the delegate is a %s tensor with %d dimensions; the program expects %s and %d dimensions",
             index, dtype_name(tensor.scalar_type()), static_cast<int>(tensor.dim()), dtype_name(view.dtype),
             view.rank);
  if (argument.is_output()) {
    SizesType sizes[kMaxRank];
    for (int d = 0; d < view.rank; ++d) sizes[d] = static_cast<SizesType>(view.sizes[d]);
    RL_TRY(resize_tensor(tensor, {sizes, static_cast<size_t>(view.rank)}));
  }
  bool is_empty = false;
  for (int d = 0; d < view.rank; ++d) is_empty = is_empty || tensor.size(d) == 0;
  for (int d = 0; d < view.rank; ++d) {
    RL_REQUIRE(tensor.size(d) == view.sizes[d], InvalidArgument,
               "argument %u of the delegate has size %lld in dimension %d; the program expects %lld", index,
               static_cast<long long>(tensor.size(d)), d, static_cast<long long>(view.sizes[d]));
    RL_REQUIRE(is_empty || tensor.size(d) == 1 || tensor.stride(d) == view.strides[d], InvalidArgument,
               "argument %u of the delegate has another dim order than the program expects", index);
  }
  RL_REQUIRE(is_empty || tensor.const_data_ptr() != nullptr, InvalidArgument,
             "argument %u of the delegate has no memory", index);
  bases_[plan_->table.values()[argument.value()].storage()] = static_cast<uint8_t*>(tensor.mutable_data_ptr());
  return Error::Ok;
}

Error Executor::bind_arguments(BackendExecutionContext& context, Span<EValue* const> arguments) {
  const auto table = plan_->table.arguments();
  RL_REQUIRE(arguments.size() == table.size(), InvalidArgument,
             "the delegate has %u arguments, but the caller passes %zu", table.size(), arguments.size());
  RL_TRY(read_symbols(arguments));
  if (!is_current_) {
    RL_TRY(update(context));
    is_current_ = true;
  }
  for (uint32_t i = 0; i < table.size(); ++i) {
    if (table[i].value() == kNone) continue;
    RL_REQUIRE(arguments[i]->is_tensor(), InvalidArgument, "argument %u of the delegate is not a tensor", i);
    RL_TRY(bind_argument(i, arguments[i]->to_tensor()));
  }
  set_addresses();
  return Error::Ok;
}

microkernels::FirstWeights Executor::first_weights_after(size_t step, int64_t workers) const {
  // The number of steps to look ahead. The weights of nearer steps are still in cache when they are read.
  constexpr size_t kNear = 4;
  for (size_t i = step + 1; i < std::min(steps_.size(), step + 1 + kNear); ++i) {
    const microkernels::FirstWeights weights = steps_[i]->first_weights(workers);
    if (weights.from != nullptr) return weights;
  }
  return {};
}

template <class F>
void Executor::for_each_value(size_t step, F&& take) const {
  const schema::Step table = plan_->table.steps()[step];
  table.operation().for_each_operand(operands_of(table), [&](Operand operand, flatbuffer::Effect) {
    if (operand.index < slots_.size()) take(operand.index);
  });
}

bool Executor::is_used_before(size_t step, uint32_t storage) const {
  const schema::Plan& table = plan_->table;
  bool is_used = false;
  for (size_t i = 0; i < step; ++i) {
    for_each_value(i, [&](uint32_t value) { is_used = is_used || table.values()[value].storage() == storage; });
  }
  return is_used;
}

// Returns whether the step accesses memory that overlaps `storage` through another storage, because it computes in
// place.
bool Executor::accesses_overlap_of(size_t step, uint32_t storage) const {
  const schema::Plan& table = plan_->table;
  bool is_read = false;
  for_each_value(step, [&](uint32_t value) {
    const uint32_t other = table.values()[value].storage();
    const bool shares = overlap(bases_[storage], static_cast<size_t>(lengths_[storage]), bases_[other],
                                static_cast<size_t>(lengths_[other]));
    is_read = is_read || (other != storage && shares && is_used_before(step, other));
  });
  return is_read;
}

bool Executor::is_input_memory(uint32_t storage) const {
  const schema::Plan& table = plan_->table;
  for (uint32_t i = 0; i < table.arguments().size(); ++i) {
    const schema::Argument argument = table.arguments()[i];
    if (argument.value() == kNone || argument.is_output()) continue;
    const uint32_t input = table.values()[argument.value()].storage();
    if (overlap(bases_[storage], static_cast<size_t>(lengths_[storage]), bases_[input],
                static_cast<size_t>(lengths_[input]))) {
      return true;
    }
  }
  return false;
}

void Executor::poison_before(size_t step, const Run& run) {
  const schema::Plan& table = plan_->table;
  poison(run.scratch, steps_[step]->scratch_floats(workers_) * sizeof(float), ScalarType::Float);
  for_each_value(step, [&](uint32_t value) {
    const uint32_t id = table.values()[value].storage();
    const schema::StorageKind kind = table.storages()[id].kind();
    const bool is_planned = kind == schema::StorageKind::ARENA;
    const bool is_result = kind == schema::StorageKind::ARGUMENT && slots_[value].is_writable && !is_input_memory(id);
    if ((!is_planned && !is_result) || is_used_before(step, id) || accesses_overlap_of(step, id)) return;
    poison(bases_[id], static_cast<size_t>(lengths_[id]), slots_[value].view.dtype);
  });
}

void Executor::log_results(size_t step, const EventTracerEntry& entry, EventTracer& tracer) const {
  const schema::Step table = plan_->table.steps()[step];
  table.operation().for_each_operand(operands_of(table), [&](Operand operand, flatbuffer::Effect effect) {
    if (effect == flatbuffer::Effect::Reads || operand.index >= slots_.size()) return;
    const View& view = slots_[operand.index].view;
    SizesType sizes[kMaxRank];
    StridesType strides[kMaxRank];
    for (int i = 0; i < view.rank; ++i) {
      sizes[i] = static_cast<SizesType>(view.sizes[i]);
      strides[i] = static_cast<StridesType>(view.strides[i]);
    }
    TensorImpl tensor;
    tensor.data = view.data;
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.numel = view.numel();
    tensor.dtype = view.dtype;
    tensor.dim = static_cast<uint8_t>(view.rank);
    apply_sign_mask(view);
    tracer.log_evalue(entry.id, entry.name, EValue(&tensor), LoggedEValueType::IntermediateOutput);
    apply_sign_mask(view);
  });
}

Error Executor::execute(BackendExecutionContext& context, Span<EValue* const> arguments) {
  RL_TRY(bind_arguments(context, arguments));
  KernelRuntimeContext kernels(context.temporary, context.threads, nullptr);
  const int64_t threads = static_cast<int64_t>(kernels.thread_count());
  Run run{kernels, std::min(workers_, threads), scratch_, {}};
  if (needed_floats_ > scratch_floats_) {
    // A step may choose an algorithm for smaller shapes that needs more scratch memory than for the upper bounds.
    run.scratch = kernels.allocate_temporary_array<float>(needed_floats_ + kSlackFloats);
    RL_REQUIRE(run.scratch != nullptr, MemoryAllocationFailed,
               "no temporary memory of %zu bytes, which these shapes need for scratch; the upper bounds of the shapes "
               "need only %zu",
               needed_floats_ * sizeof(float), scratch_floats_ * sizeof(float));
  }
  EventTracer* const tracer = enabled_tracer(context.tracer);
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step* const step = steps_[i];
    run.next = first_weights_after(i, run.workers);
    if constexpr (kPoisons) poison_before(i, run);
    EventTracerEntry entry;
    if (tracer) entry = tracer->start_profiling(context.operator_event(step->debug_handle), step->name());
    if (const Error error = step->run(run); error != Error::Ok) return fail_in(*step, error, context);
    if (tracer) {
      tracer->end_profiling(entry);
      if (tracer->wants_intermediate_outputs()) log_results(i, entry, *tracer);
    }
  }
  return Error::Ok;
}

}  // namespace rushlight::cpu
