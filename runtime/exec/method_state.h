#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exec/method_data.h"
#include "program/plan_view.h"
#include "rushlight/exec/method.h"

namespace rushlight {

// Whether methods may call kernels. The programs of a selective build without kernels call only backends.
#if defined(RUSHLIGHT_NO_KERNELS)
inline constexpr bool kHasKernels = false;
#else
inline constexpr bool kHasKernels = true;
#endif

enum class Opcode : uint8_t {
  Kernel,
  GuardedKernel,  // a kernel with a parameter EValue&: the tags of its arguments are checked after the call
  View,           // a kernel whose result, argument kViewOut, is a view: the value is first set to its own tensor again
  Delegate,
  Move,
  JumpFalse,
  Free,
};

// The largest arity of a guarded kernel, whose arguments are copied before each call.
constexpr uint16_t kMaxGuardedArity = 16;
// The index of the argument `out` of a view call.
constexpr size_t kViewOut = 2;

struct DelegateState {
  BackendInterface* backend;
  DelegateHandle* handle;
  FreeableBuffer processed;
};

// An instruction whose operands are resolved to pointers.
struct Instruction {
  Opcode opcode;
  uint8_t arity;         // GuardedKernel
  uint32_t destination;  // JumpFalse; for View, an index of MethodState::views
  union {
    KernelFunction kernel;
    DelegateState* delegate;
    EValue* from;  // Move, JumpFalse (the condition), Free
  };
  union {
    EValue* const* arguments;  // Kernel, GuardedKernel, View, Delegate
    EValue* to;                // Move
  };
  uint32_t argument_count;
  const Kernel* row;  // kernel instructions only
};

struct InstructionChain {
  const Instruction* instructions;
  uint32_t count;
};

// An input or output of the method.
struct InputOutput {
  EValue* value;
  TensorImpl* tensor;  // the original tensor of `value`, even after a move changed `value`; null if it is not a tensor
  bool from_caller;    // the caller sets the memory of the tensor
  bool is_fixed;       // a number or string that no instruction reads: a constant of the program
};

// A tensor whose data pointer is changed by a view instruction, and the memory of the tensor itself.
struct ViewOut {
  TensorImpl* tensor;
  void* data;
  size_t capacity;
};

// A value that a move replaces by another tensor, and its own tensor.
struct MovedValue {
  EValue* value;
  TensorImpl* tensor;
};

struct ShapeGuard;
struct Relation;
struct RelationStep;

struct MethodState {
  MethodState(const PlanView& view, const MemoryManager& manager, const Environment& environment)
      : plan(view),
        memory(manager),
        threads(environment.threads),
        tracer(environment.tracer),
        data(&view.program(), environment.data),
        max_instructions(environment.limits.instructions),
        instructions_left(max_instructions) {}

  PlanView plan;
  MemoryManager memory;
  ThreadPool* threads;
  EventTracer* tracer;
  MethodData data;
  uint64_t max_instructions;
  uint64_t instructions_left;  // of the current execution
  std::atomic<bool> is_cancelled{false};

  EValue* values = nullptr;
  InputOutput* inputs = nullptr;
  InputOutput* outputs = nullptr;
  uint32_t num_inputs = 0;
  uint32_t num_outputs = 0;
  // Tensors for which the caller must provide memory before a run.
  TensorImpl** from_caller = nullptr;
  uint32_t num_from_caller = 0;
  // Before a run, these tensors have their own memory again, because the memory that they viewed may no longer exist.
  ViewOut* views = nullptr;
  uint32_t num_views = 0;
  // Before a run, these values are their own tensors again. An instruction before the move may use the value.
  MovedValue* moved = nullptr;
  uint32_t num_moved = 0;
  // With RUSHLIGHT_POISON: planned tensors that are written before they are read (transient), and planned tensors that
  // have a value at the start of a run (kept).
  TensorImpl** transient = nullptr;
  uint32_t num_transient = 0;
  TensorImpl** kept = nullptr;
  uint32_t num_kept = 0;
  InstructionChain* chains = nullptr;
  uint32_t num_chains = 0;
  DelegateState* delegates = nullptr;
  uint32_t num_delegates = 0;  // delegates that are initialized so far
  FreeableBuffer* external = nullptr;
  uint32_t num_external = 0;  // tensors that are loaded so far
  const ShapeGuard* guards = nullptr;
  uint32_t num_guards = 0;
  FreeableBuffer guard_data;  // the names of inputs
  const Relation* relations = nullptr;
  const RelationStep* relation_steps = nullptr;
  uint32_t num_relations = 0;
  uint32_t num_relation_steps = 0;
  FreeableBuffer relation_data;  // texts of the relations
  ExecutionFailure failure;
  char failed_name[64];  // the name in failure.delegate_operator
  // The instruction that step() runs next.
  uint32_t next_chain = 0;
  uint32_t next_instruction = 0;
};

// Returns the tensor of a value that no instruction has replaced.
inline TensorImpl* tensor_of(const EValue& value) { return value.is_tensor() ? value.to_tensor().impl() : nullptr; }

// Sets all sizes of a DYNAMIC_UNBOUND tensor to 0.
inline void make_empty(TensorImpl& tensor) {
  for (int i = 0; i < tensor.dim; ++i) tensor.sizes[i] = 0;
  tensor.numel = 0;
}

}  // namespace rushlight
