#include <cstring>

#include "core/all_tensors.h"
#include "core/cpu_features.h"
#include "core/message.h"
#include "core/poison.h"
#include "exec/initial_state.h"
#include "exec/memory_limit.h"
#include "exec/method_state.h"
#include "exec/relations.h"
#include "exec/shape_guards.h"
#include "platform/format.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/exec/method.h"

#if defined(__GNUC__)
#define RL_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define RL_UNLIKELY(condition) (condition)
#endif

namespace rushlight {
namespace {

// The text " operator 7" or " operator 'conv'" if the backend reported the operator that failed, else "".
struct OperatorText {
  char text[96] = "";
  explicit OperatorText(const DelegateOperator& op) {
    if (!op.name.empty()) {
      format_text(text, sizeof(text), " operator '%.*s'", static_cast<int>(op.name.size()), op.name.data());
    } else if (op.number >= 0) {
      format_text(text, sizeof(text), " operator %lld", static_cast<long long>(op.number));
    }
  }
};

// Sets the last error message to "method 'forward', instruction 3 of chain 0 (aten::add.out, model.py:12): why". `why`
// is the previous message. The text contains the source line if the program has stack traces.
Error failed_at(MethodState& state, size_t chain, size_t index, Error code) {
  state.failure.chain = static_cast<int32_t>(chain);
  state.failure.instruction = static_cast<int32_t>(index);
  code = report_memory_limit(state.memory.temporary, code);
  if (!kHasMessages) return code;
  const SourceLine source = state.plan.source_line(chain, index);
  char line[96] = "";
  if (!source.file.empty()) {
    const size_t length = source.file.size(), shown = length < 70 ? length : 70;
    format_text(line, sizeof(line), ", %.*s:%d", static_cast<int>(shown), source.file.data() + length - shown,
                source.line);
  }
  const InstructionView view = state.plan.instruction(chain, index);
  const char* operation = view.kind == InstructionKind::JumpFalse ? "jump"
                          : view.kind == InstructionKind::Free    ? "free"
                                                                  : "move";
  const char* overload = "";
  if (view.kind == InstructionKind::Kernel) {
    const OperatorName name = state.plan.operator_name(view.first);
    operation = name.name.data();
    overload = name.overload.data();
  } else if (view.kind == InstructionKind::Delegate) {
    operation = state.plan.delegate_id(view.first).data();
  }
  return fail(code, "method '%.80s', instruction %zu of chain %zu (%.120s%s%.80s%s%s): %s", state.plan.name().data(),
              index, chain, operation, *overload ? "." : "", overload,
              OperatorText(state.failure.delegate_operator).text, line,
              *last_error_message() ? last_error_message() : to_string(code));
}

// Returns whether the condition of a jump is false. A tensor is true if all of its elements are true.
bool is_false(const EValue& condition) {
  if (!condition.is_tensor()) return !condition.to_bool();
  const Tensor tensor = condition.to_tensor();
  const uint8_t* data = tensor.const_data_ptr<uint8_t>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (data[i] == 0) return true;
  }
  return false;
}

bool same_kind(Tag a, Tag b) {
  const auto is_number = [](Tag tag) { return tag == Tag::Int || tag == Tag::Double || tag == Tag::Bool; };
  return a == b || (is_number(a) && is_number(b));
}

// A kernel with a parameter EValue& may replace a value. If the type of the value changed, later instructions could
// read the value with a wrong type. The change is therefore undone, and the call fails.
Error call_guarded(const MethodState& state, const Instruction& instruction, KernelRuntimeContext& context) {
  EValue before[kMaxGuardedArity];
  for (uint8_t i = 0; i < instruction.arity; ++i) before[i] = *instruction.arguments[i];
  instruction.kernel(context, instruction.arguments);
  for (uint8_t i = 0; i < instruction.arity; ++i) {
    EValue& value = *instruction.arguments[i];
    if (same_kind(value.tag, before[i].tag)) continue;
    const Tag tag = value.tag;
    value = before[i];
    context.fail(Error::InvalidType, "argument %d is a %s and cannot hold the result, a %s", i,
                 to_string(before[i].tag), to_string(tag));
  }
  if (context.failure() != Error::Ok) return context.failure();
  if ((state.num_guards == 0 && state.num_relations == 0) || instruction.arity == 0) return Error::Ok;
  // The last argument is the result.
  const EValue& result = *instruction.arguments[instruction.arity - 1];
  RL_TRY(check_value_range(state, result));
  return check_relations_of(state, result);
}

void free_value(EValue& value) {
  if (!value.is_tensor()) return;
  TensorImpl& tensor = *value.to_tensor().impl();
  if (tensor.dynamism == ShapeDynamism::DYNAMIC_UNBOUND) make_empty(tensor);
}

EventId event_id(const MethodState& state, size_t chain, size_t index) {
  static constexpr EventKind kinds[] = {EventKind::Kernel, EventKind::Kernel, EventKind::Kernel, EventKind::Delegate,
                                        EventKind::Move,   EventKind::Jump,   EventKind::Free};
  const Opcode opcode = state.chains[chain].instructions[index].opcode;
  return {kinds[static_cast<size_t>(opcode)], static_cast<int32_t>(chain), static_cast<int32_t>(index), -1, {}};
}

std::string_view event_name(const MethodState& state, size_t chain, size_t index) {
  const Instruction& instruction = state.chains[chain].instructions[index];
  switch (instruction.opcode) {
    case Opcode::Kernel:
    case Opcode::GuardedKernel:
    case Opcode::View:
      return instruction.row->name;
    case Opcode::Delegate:
      return state.plan.delegate_id(state.plan.instruction(chain, index).first);
    case Opcode::Move:
      return "move";
    case Opcode::JumpFalse:
      return "jump";
    case Opcode::Free:
      return "free";
  }
  return "";
}

void log_results(EventTracer& tracer, const EventTracerEntry& entry, const Instruction& instruction) {
  const auto log = [&](const EValue& value) {
    tracer.log_evalue(entry.id, entry.name, value, LoggedEValueType::IntermediateOutput);
  };
  if (instruction.opcode == Opcode::Move) return log(*instruction.to);
  if (instruction.opcode == Opcode::Delegate) {
    for (uint32_t i = 0; i < instruction.argument_count; ++i) log(*instruction.arguments[i]);
    return;
  }
  if (!instruction.row) return;
  const BoxedKernel& boxed = instruction.row->boxed;
  bool has_out = false;
  for (uint16_t i = 0; i < boxed.arity; ++i) {
    if (boxed.kinds[i] != ArgKind::OutTensor && boxed.kinds[i] != ArgKind::OutTensorList) continue;
    log(*instruction.arguments[i]);
    has_out = true;
  }
  if (!has_out && instruction.argument_count > 0) log(*instruction.arguments[instruction.argument_count - 1]);
}

void trace_end(const MethodState& state, const EventTracerEntry& entry, Error error) {
  EventTracer& tracer = *state.tracer;
  tracer.end_profiling(entry);
  const MemoryAllocator* temporary = state.memory.temporary;
  if (temporary && temporary->used() > 0) {
    tracer.track_allocation(tracer.track_allocator(kTemporaryAllocator), temporary->used());
  }
  if (error != Error::Ok || !tracer.wants_intermediate_outputs()) return;
  log_results(tracer, entry, state.chains[entry.id.chain].instructions[entry.id.instruction]);
}

void log_outputs(const MethodState& state) {
  if (state.tracer->event_tracer_debug_level() == EventTracerDebugLogLevel::NoLogging) return;
  for (uint32_t i = 0; i < state.num_outputs; ++i) {
    state.tracer->log_evalue({EventKind::Method}, state.plan.name(), *state.outputs[i].value,
                             LoggedEValueType::ProgramOutput);
  }
}

// Copies the name, which may become invalid after this call.
void record_failure(MethodState& state, const DelegateOperator& failed) {
  const size_t length = failed.name.size() < sizeof(state.failed_name) ? failed.name.size() : sizeof(state.failed_name);
  if (length > 0) std::memcpy(state.failed_name, failed.name.data(), length);
  state.failure.delegate_operator = {failed.number, {state.failed_name, length}};
}

Error call_delegate(MethodState& state, const Instruction& instruction, size_t chain, size_t index) {
  BackendExecutionContext context{
      state.memory.temporary, state.threads, enabled_tracer(state.tracer), event_id(state, chain, index), {}};
  const DelegateState& delegate = *instruction.delegate;
  const Error error = delegate.backend->execute(context, delegate.handle,
                                                Span<EValue* const>(instruction.arguments, instruction.argument_count));
  if (RL_UNLIKELY(error != Error::Ok)) record_failure(state, context.failed);
  return error;
}

// Undoes the moves of tensors and the views of the last run. A tensor without bounds may be larger than its own memory;
// it becomes empty.
void restore_tensors(const MethodState& state) {
  for (uint32_t i = 0; i < state.num_moved; ++i) *state.moved[i].value = EValue(state.moved[i].tensor);
  for (uint32_t i = 0; i < state.num_views; ++i) {
    const ViewOut& view = state.views[i];
    TensorImpl& tensor = *view.tensor;
    tensor.data = view.data;
    tensor.capacity = view.capacity;
    const bool fits = static_cast<uint64_t>(tensor.numel) <= tensor.capacity / element_size(tensor.dtype);
    if (tensor.dynamism == ShapeDynamism::DYNAMIC_UNBOUND && !fits) make_empty(tensor);
  }
}

// Ends a run that failed. step() then begins at the first instruction, because later instructions may use views and
// moved tensors.
Error end_run(MethodState& state, size_t index, Error error) {
  const size_t chain = state.next_chain;
  state.next_chain = 0;
  state.next_instruction = 0;
  restore_tensors(state);
  return failed_at(state, chain, index, error);
}

// At the start of a run, fills the planned memory that contains no value of the method with the poison pattern.
[[maybe_unused]] void poison_start(const MethodState& state) {
  for (uint32_t i = 0; i < state.num_transient; ++i) {
    const TensorImpl& tensor = *state.transient[i];
    bool is_kept = false;
    for (uint32_t j = 0; j < state.num_kept && !is_kept; ++j) {
      is_kept = overlap(tensor.data, tensor.capacity, state.kept[j]->data, state.kept[j]->capacity);
    }
    if (!is_kept) poison(tensor.data, tensor.capacity, tensor.dtype);
  }
}

// Before a kernel is called, fills its output arguments (its last arguments) with the poison pattern. It skips outputs
// that share memory with arguments that the kernel reads, and views.
[[maybe_unused]] void poison_results(const Instruction& instruction) {
  if (!instruction.row || instruction.opcode == Opcode::View) return;
  const BoxedKernel& boxed = instruction.row->boxed;
  for (uint16_t out = boxed.arity; out-- > 1 && boxed.kinds[out] == ArgKind::OutTensor;) {
    const TensorImpl& tensor = *instruction.arguments[out]->to_tensor().impl();
    bool is_read = false;
    for (uint16_t i = 0; i < boxed.arity; ++i) {
      if (i == out || !is_tensor_kind(boxed.kinds[i])) continue;
      all_tensors(*instruction.arguments[i], [&](const Tensor& other) {
        is_read = is_read || overlap(tensor.data, tensor.capacity, other.const_data_ptr(), other.impl()->capacity);
        return !is_read;
      });
    }
    if (!is_read) poison(tensor.data, tensor.capacity, tensor.dtype);
  }
}

// Returns Ok, or the error if no further instruction may run.
Error check_may_run(const MethodState& state) {
  RL_REQUIRE(state.instructions_left > 0, OutOfResources,
             "the call reached the limit of %llu instructions (Limits::instructions)",
             static_cast<unsigned long long>(state.max_instructions));
  RL_REQUIRE(!state.is_cancelled.load(std::memory_order_relaxed), Cancelled, "the call was cancelled");
  return Error::Ok;
}

// Does what an instruction says, without events. Sets `next` to its destination if it jumps.
Error run_instruction(MethodState& state, KernelRuntimeContext& context, uint32_t index, uint32_t* next) {
  const Instruction& instruction = state.chains[state.next_chain].instructions[index];
  switch (instruction.opcode) {
    case Opcode::View:
      if (!kHasKernels) break;
      *instruction.arguments[kViewOut] = EValue(state.views[instruction.destination].tensor);
      [[fallthrough]];
    case Opcode::Kernel:
      if (!kHasKernels) break;
      instruction.kernel(context, instruction.arguments);
      return context.failure();
    case Opcode::GuardedKernel:
      if (!kHasKernels) break;
      return call_guarded(state, instruction, context);
    case Opcode::Delegate:
      return call_delegate(state, instruction, state.next_chain, index);
    case Opcode::Move:
      *instruction.to = *instruction.from;
      break;
    case Opcode::JumpFalse:
      if (is_false(*instruction.from)) *next = instruction.destination;
      break;
    case Opcode::Free:
      free_value(*instruction.from);
      break;
  }
  return Error::Ok;
}

// Runs one instruction or all remaining instructions, beginning at state.next_chain and state.next_instruction. Returns
// EndOfMethod after the last one.
Error run(MethodState& state, bool is_single_step) {
  if constexpr (kPoisons) {
    if (state.next_chain == 0 && state.next_instruction == 0) poison_start(state);
  }
  clear_upper_registers();
  EventTracer* const tracer = enabled_tracer(state.tracer);
  KernelRuntimeContext context(state.memory.temporary, state.threads, tracer);
  MemoryAllocator* const temporary = state.memory.temporary;
  EventTracerEntry entry;
  for (; state.next_chain < state.num_chains; ++state.next_chain, state.next_instruction = 0) {
    const InstructionChain chain = state.chains[state.next_chain];
    for (uint32_t at = state.next_instruction; at < chain.count;) {
      if (RL_UNLIKELY(state.instructions_left == 0 || state.is_cancelled.load(std::memory_order_relaxed))) {
        return end_run(state, at, check_may_run(state));
      }
      --state.instructions_left;
      if (RL_UNLIKELY(tracer)) {
        entry = tracer->start_profiling(event_id(state, state.next_chain, at), event_name(state, state.next_chain, at));
      }
      if constexpr (kPoisons) poison_results(chain.instructions[at]);
      uint32_t next = at + 1;
      const Error error = run_instruction(state, context, at, &next);
      if (RL_UNLIKELY(tracer)) trace_end(state, entry, error);
      if (temporary && temporary->used() > 0) temporary->reset();
      if (RL_UNLIKELY(error != Error::Ok)) return end_run(state, at, error);
      at = next;
      if (is_single_step) {
        state.next_instruction = at;
        return Error::Ok;
      }
    }
  }
  return Error::EndOfMethod;
}

}  // namespace

Error Method::check_memory_given() const {
  for (uint32_t i = 0; i < state_->num_from_caller; ++i) {
    const TensorImpl& tensor = *state_->from_caller[i];
    if (tensor.data || tensor.numel == 0) continue;
    for (uint32_t j = 0; j < state_->num_inputs; ++j) {
      RL_REQUIRE(state_->inputs[j].tensor != &tensor, InvalidState, "input %u of method '%.80s' has not been set", j,
                 state_->plan.name().data());
    }
    for (uint32_t j = 0; j < state_->num_outputs; ++j) {
      RL_REQUIRE(state_->outputs[j].tensor != &tensor, InvalidState,
                 "output %u of method '%.80s' has no memory: set its memory with set_output_data_ptr()", j,
                 state_->plan.name().data());
    }
  }
  return Error::Ok;
}

void Method::cancel() { state_->is_cancelled.store(true, std::memory_order_relaxed); }

Error Method::execute() {
  state_->failure = {};
  state_->is_cancelled.store(false, std::memory_order_relaxed);
  RL_TRY(reset_execution());
  RL_TRY(check_memory_given());
  RL_TRY(check_input_relations(*state_));
  RL_TRY(check_relations(*state_));
  clear_last_error_message();
  EventTracer* const tracer = enabled_tracer(state_->tracer);
  if (RL_UNLIKELY(tracer)) tracer->create_event_block("Execute");
  Error error;
  {
    const EventTracerScope scope(tracer, {EventKind::Method}, state_->plan.name());
    error = run(*state_, false);
  }
  if (error != Error::EndOfMethod) return error;
  if (RL_UNLIKELY(tracer)) log_outputs(*state_);
  return Error::Ok;
}

Error Method::step() {
  state_->failure = {};
  RL_TRY(check_memory_given());
  if (state_->next_chain == 0 && state_->next_instruction == 0) {
    RL_TRY(check_input_relations(*state_));
    RL_TRY(check_relations(*state_));
  }
  clear_last_error_message();
  return run(*state_, true);
}

Error Method::reset_execution() {
  state_->next_chain = 0;
  state_->next_instruction = 0;
  state_->instructions_left = state_->max_instructions;
  restore_tensors(*state_);
  return Error::Ok;
}

Error Method::reset_state() {
  RL_TRY(reset_execution());
  for (size_t i = 0; i < state_->plan.num_values(); ++i) {
    if (state_->plan.tag(i) != Tag::Tensor) continue;
    const TensorView view = state_->plan.tensor(i);
    if (view.is_planned()) std::memset(tensor_of(state_->values[i])->data, 0, view.nbytes);
  }
  RL_TRY(load_initial_values(*state_, nullptr));
  for (uint32_t i = 0; i < state_->num_delegates; ++i) {
    const DelegateState& delegate = state_->delegates[i];
    RL_TRY(delegate.backend->reset_state(delegate.handle, &state_->data));
  }
  return Error::Ok;
}

}  // namespace rushlight
