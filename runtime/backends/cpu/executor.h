#pragma once

#include "backends/cpu/plan.h"

namespace rushlight::cpu {

// Executes a plan: it allocates the memory of the values, makes a step for each operation, and runs the steps.
class Executor {
 public:
  // Makes an executor and transfers the ownership of the plan to it. The plan is stored in `allocator`.
  static Result<Executor*> make(Plan* plan, const microkernels::F32Microkernels& kernels, int64_t workers,
                                MemoryAllocator& allocator);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Error execute(BackendExecutionContext& context, Span<EValue* const> arguments);

  // Restores the initial contents of storages that are kept between calls.
  Error reset_state(const NamedDataMap* named_data);

 private:
  explicit Executor(Plan* plan) : plan_(plan) {}
  Error build(const microkernels::F32Microkernels& kernels, int64_t workers, MemoryAllocator& allocator);
  // These functions are the parts of build(), in their order. Allocates the arena, and the arrays below without their
  // contents.
  Error allocate_tables(MemoryAllocator& allocator);
  // Sets the address and the length of each storage in the arena, in a constant or in a state.
  Error place_storages(MemoryAllocator& allocator);
  // Records for each value whether steps may write it, and where its memory is.
  void set_permissions();
  // Makes the steps, prepares them for the upper bounds, and computes the scratch memory that they need.
  Error make_steps(const microkernels::F32Microkernels& kernels, MemoryAllocator& allocator);
  // Allocates the memory of a storage whose contents are kept between calls, and writes the initial contents.
  Error make_state(uint32_t index, MemoryAllocator& allocator);
  // Recomputes everything that depends on the values of symbols: sizes, strides and bounds, and what the steps
  // prepared.
  Error update(BackendExecutionContext& context);
  // Computes all expressions from the values of the symbols.
  Error evaluate();
  // Sets masks[storage]. The mask is not 0 if the int8 numbers of a storage are stored in the form of a GEMM's LHS,
  // which requires that all steps that use them support this form.
  void choose_masks(Span<uint8_t> masks);
  // Sets the dtype, sizes and strides of all values from the expressions, and checks that they fit their storages.
  Error set_shapes();
  // Sets the lengths of the arguments' storages to the bytes of their elements.
  Error set_argument_lengths();
  // Returns whether all elements of a value are in its storage.
  bool fits_storage(uint32_t index) const;
  // Computes the values of the symbols from the arguments. Clears is_current_ if a value has changed.
  Error read_symbols(Span<EValue* const> arguments);
  Error bind_arguments(BackendExecutionContext& context, Span<EValue* const> arguments);
  Error bind_argument(uint32_t index, const Tensor& tensor);
  // Sets the address of each value from the address of its storage.
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
  Span<uint8_t*> bases_;      // [storages], the address of the first byte
  Span<int64_t> lengths_;     // [storages], bytes; for an argument, the bytes that its views cover
  Span<Step*> steps_;
  uint8_t* arena_ = nullptr;
  float* scratch_ = nullptr;
  size_t scratch_floats_ = 0;  // for the upper bounds
  size_t needed_floats_ = 0;   // for the sizes of the last call
  int64_t workers_ = 1;
  bool is_current_ = false;  // whether the shapes and the steps are prepared for the values of symbols_
};

}  // namespace rushlight::cpu
