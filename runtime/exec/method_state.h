#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exec/method_data.h"
#include "program/plan_view.h"
#include "rushlight/exec/method.h"

namespace rushlight {

enum class Opcode : uint8_t {
  Kernel,
  GuardedKernel,  // a kernel with a parameter EValue&: the tags of its arguments are checked after it ran
  Delegate,
  Move,
  JumpFalse,
  Free,
};

struct DelegateState {
  BackendInterface* backend;
  DelegateHandle* handle;
  FreeableBuffer processed;
};

// An instruction whose operands are resolved to pointers.
struct Instruction {
  Opcode opcode;
  uint8_t arity;         // GuardedKernel
  uint32_t destination;  // JumpFalse
  union {
    KernelFunction kernel;
    DelegateState* delegate;
    EValue* from;  // Move, JumpFalse (the condition), Free
  };
  union {
    EValue* const* arguments;  // Kernel, Delegate
    EValue* to;                // Move
  };
  uint32_t argument_count;
  const Kernel* row;  // of a kernel
};

struct InstructionChain {
  const Instruction* instructions;
  uint32_t count;
};

// An input or output of the method.
struct MethodEnd {
  EValue* value;
  TensorImpl* tensor;  // the tensor of this value, also after moves changed `value`; null unless it is a tensor
  bool from_caller;    // a tensor without planned memory
  bool is_fixed;       // a number or string that no instruction reads: a constant of the program
};

// A tensor that a view instruction makes point to other memory, and its own memory.
struct ViewOut {
  TensorImpl* tensor;
  void* data;
  size_t capacity;
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
  uint64_t instructions_left;  // of this execution
  std::atomic<bool> is_cancelled{false};

  EValue* values = nullptr;
  MethodEnd* inputs = nullptr;
  MethodEnd* outputs = nullptr;
  uint32_t num_inputs = 0;
  uint32_t num_outputs = 0;
  // Tensors for which the caller must provide memory before a run.
  TensorImpl** from_caller = nullptr;
  uint32_t num_from_caller = 0;
  // Before a run, these tensors point to their own memory again, because the memory of the view may no longer exist.
  ViewOut* views = nullptr;
  uint32_t num_views = 0;
  // With RUSHLIGHT_POISON: planned tensors that are written before they are read, and planned tensors that have a value
  // at the start of a run.
  TensorImpl** transient = nullptr;
  uint32_t num_transient = 0;
  TensorImpl** kept = nullptr;
  uint32_t num_kept = 0;
  InstructionChain* chains = nullptr;
  uint32_t num_chains = 0;
  DelegateState* delegates = nullptr;
  uint32_t num_delegates = 0;  // initialised so far
  FreeableBuffer* external = nullptr;
  uint32_t num_external = 0;  // loaded so far
  const ShapeGuard* guards = nullptr;
  uint32_t num_guards = 0;
  FreeableBuffer guard_data;  // the names of inputs
  const Relation* relations = nullptr;
  const RelationStep* relation_steps = nullptr;
  uint32_t num_relations = 0;
  uint32_t num_relation_steps = 0;
  FreeableBuffer relation_data;  // their text
  ExecutionFailure failure;
  char failed_name[64];  // of failure.delegate_operator
  // The next instruction of step().
  uint32_t next_chain = 0;
  uint32_t next_instruction = 0;
};

// Returns the tensor of a value to which nothing was moved.
inline TensorImpl* tensor_of(const EValue& value) { return value.is_tensor() ? value.to_tensor().impl() : nullptr; }

}  // namespace rushlight
