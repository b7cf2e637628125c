#pragma once

#include "backends/cpu/plan.h"

namespace rushlight::cpu {

// Executes a plan: it allocates the memory of the values, makes a step for each operation, and runs the steps.
class Executor {
 public:
  // Makes an executor and transfers the ownership of the plan to it. The plan is stored in `allocator`.
  static Result<Executor*> make(Plan* plan, const microkernels::F32Microkernels& tiles, int64_t workers,
                                MemoryAllocator& allocator);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Error execute(BackendExecutionContext& context, Span<EValue* const> arguments);

  // Restores the initial contents of storages that are kept between calls.
  Error reset_state(const NamedDataMap* named_data);

 private:
  explicit Executor(Plan* plan) : plan_(plan) {}
  Error build(const microkernels::F32Microkernels& tiles, int64_t workers, MemoryAllocator& allocator);
  // Allocates the memory of a storage whose contents are kept between calls, and writes the initial contents.
  Error make_state(uint32_t index, MemoryAllocator& allocator);
  // Recomputes everything that depends on the values of symbols: sizes, strides and bounds, and what the steps
  // prepared.
  Error update(BackendExecutionContext& context);
  Error evaluate();
  // Sets masks[storage]. The mask is not 0 if the int8 numbers of a storage are stored in the form of a GEMM's LHS,
  // which requires that all steps that use them support this form.
  void choose_masks(Span<uint8_t> masks);
  Error place_views();
  Error read_symbols(Span<EValue* const> arguments);
  Error bind_arguments(BackendExecutionContext& context, Span<EValue* const> arguments);
  Error bind_argument(uint32_t index, const Tensor& tensor);
  void set_addresses();
  // Calls take(index) for each value that is an operand of the step.
  template <class F>
  void for_each_value(size_t step, F&& take) const;
  // In builds with RUSHLIGHT_POISON: poisons the memory that contains no value of an earlier step.
  void poison_before(size_t step, const Run& run);
  // Records the outputs of a step in the trace.
  void log_results(size_t step, const EventTracerEntry& entry, EventTracer& tracer) const;
  bool is_used_before(size_t step, uint32_t storage) const;
  bool accesses_overlap_of(size_t step, uint32_t storage) const;
  bool is_input_memory(uint32_t storage) const;
  microkernels::FirstWeights first_weights_after(size_t step, int64_t workers) const;

  Plan* const plan_;
  Span<int64_t> symbols_;
  Span<int64_t> expressions_;
  Span<Binder::Slot> slots_;  // [values]
  Span<uint8_t*> bases_;      // [storages]
  Span<int64_t> lengths_;     // [storages], bytes; for an argument, the bytes that its views cover
  Span<Step*> steps_;
  uint8_t* arena_ = nullptr;
  float* scratch_ = nullptr;
  size_t scratch_floats_ = 0;  // for the upper bounds
  size_t needed_floats_ = 0;   // for the sizes of the last call
  int64_t workers_ = 1;
  bool is_current_ = false;
};

}  // namespace rushlight::cpu
