#pragma once

#include "backends/cpu/plan.h"

namespace rushlight::cpu {

// A plan bound to memory.
class Executor {
 public:
  // Takes the plan, which lives in `allocator`.
  static Result<Executor*> make(Plan* plan, const microkernels::F32Microkernels& tiles, int64_t workers,
                                MemoryAllocator& allocator);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Error execute(BackendExecutionContext& context, Span<EValue* const> arguments);

 private:
  explicit Executor(Plan* plan) : plan_(plan) {}
  Error build(const microkernels::F32Microkernels& tiles, int64_t workers, MemoryAllocator& allocator);
  // Memory of a storage that is kept from call to call, with its first content.
  Error make_state(uint32_t index, MemoryAllocator& allocator);
  // Everything that follows from the values of symbols: sizes, strides, bounds, and what steps make of them.
  Error update(BackendExecutionContext& context);
  Error evaluate();
  // By storage: keeps int8 numbers in the form of products' LHS operands where all steps that have them can.
  void choose_masks(Span<uint8_t> masks);
  Error place_views();
  Error take_symbols(Span<EValue* const> arguments);
  Error take_arguments(BackendExecutionContext& context, Span<EValue* const> arguments);
  Error take_argument(uint32_t index, const Tensor& tensor);
  void set_addresses();
  // Calls take(index) for each value that is an operand of the step.
  template <class F>
  void for_each_value(size_t step, F&& take) const;
  // Poisons what lies in no value of a step before this one, as a build with RUSHLIGHT_POISON does.
  void poison_before(size_t step, const Run& run);
  // Records what a step wrote.
  void log_results(size_t step, const EventTracerEntry& entry, EventTracer& tracer) const;
  bool is_used_before(size_t step, uint32_t storage) const;
  bool is_read_by(size_t step, uint32_t storage) const;
  bool is_input_memory(uint32_t storage) const;
  microkernels::FirstWeights first_weights_after(size_t step, int64_t workers) const;

  Plan* const plan_;
  Span<int64_t> symbols_;
  Span<int64_t> expressions_;
  Span<Binder::Slot> slots_;  // by value
  Span<uint8_t*> bases_;      // by storage
  Span<int64_t> lengths_;     // by storage, bytes; of arguments as the views of their values are
  Span<Step*> steps_;
  uint8_t* arena_ = nullptr;
  float* scratch_ = nullptr;
  size_t scratch_floats_ = 0;  // of the upper bounds
  size_t needed_floats_ = 0;   // of the sizes of the last call
  int64_t workers_ = 1;
  bool is_current_ = false;
};

}  // namespace rushlight::cpu
