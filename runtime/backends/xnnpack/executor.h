#pragma once

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/step.h"
#include "backends/xnnpack/storage.h"
#include "backends/xnnpack/threads.h"
#include "backends/xnnpack/workspace.h"
#include "rushlight/core/backend.h"

namespace rushlight::xnnpack {

// Executes a graph and owns its memory. Only one thread at a time may call execute() of an executor.
class Executor {
 public:
  // Makes an executor and transfers the ownership of `graph` to it, also if make() fails.
  static Result<Executor*> make(Graph* graph, const Options& options, size_t thread_count, MemoryAllocator& allocator);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Error execute(BackendExecutionContext& context, Span<EValue* const> arguments);

 private:
  explicit Executor(Graph* graph) : graph_(graph) {}

  Error build(const Options& options, size_t thread_count, MemoryAllocator& allocator);
  // Infers the shapes of all values. If the shapes of a node do not match, sets `failed` to this node.
  Error infer_shapes(Shape* shapes, DelegateOperator* failed) const;
  Error make_steps(const Options& options, size_t thread_count, MemoryAllocator& allocator);
  class WorkspaceSlots;
  // Plans and allocates the workspace: values, staging memory of inputs and scratch memory of steps.
  Error plan(MemoryAllocator& allocator);
  void add_staging(WorkspaceSlots& slots);
  void add_values_and_scratch(WorkspaceSlots& slots);
  Error copy_unpadded_constants(MemoryAllocator& allocator);
  void release_packed() const;

  // Whether the step has nothing to compute for the current shapes.
  bool is_idle(const Step& step) const;
  // Whether the first input is empty and the result is not. All elements of the result then have the same value.
  bool is_filled(const Step& step) const;
  Error fill(const Step& step) const;
  Error bind_inputs(Span<EValue* const> arguments);
  Error update_shapes(DelegateOperator* failed);
  Error bind_outputs(Span<EValue* const> arguments);
  Error set_up(DelegateOperator* failed);
  // Runs a step, which has `planned` bytes of scratch memory.
  Error run(Step& step, size_t planned, KernelRuntimeContext& kernels);
  // Ends the event of a step in the trace, and records its scratch memory and its result. The metadata of the event are
  // the debug handles of the nodes that fuse() folded into the step, as little-endian uint32.
  void trace_end(const Step& step, const EventTracerEntry& entry, EventTracer& tracer,
                 const MemoryAllocator* temporary) const;

  // In builds with RUSHLIGHT_POISON: poisons the scratch memory and the result of a step, unless an earlier step uses
  // the memory of the result.
  void poison_before(size_t step);

  Graph* graph_;
  Operand* operands_ = nullptr;   // [values]
  Shape* shapes_ = nullptr;       // [values], temporary shapes for inference
  size_t* capacities_ = nullptr;  // [values], bytes of values that own memory in the workspace
  uint8_t** staging_ = nullptr;   // [values], memory for a copy of an input that ends at a page end, or null
  Storage storage_;
  Span<Step*> steps_;
  uint8_t** scratch_ = nullptr;      // [steps]
  size_t* scratch_sizes_ = nullptr;  // [steps], bytes
  pthreadpool* threads_ = nullptr;
  bool is_changed_ = true;  // shapes or addresses have changed since the last set_up()
  bool has_new_shapes_ = false;
  bool needs_temporary_ = false;  // a step needs more scratch memory than is planned
};

}  // namespace rushlight::xnnpack
