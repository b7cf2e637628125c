#pragma once

#include "backends/cpu/plan.h"

namespace rushlight::cpu {

// A plan whose values have memory and whose operations are steps. It executes the plan.
class Executor {
 public:
  // Makes an executor. It takes over the plan, which lives in `allocator`.
  static Result<Executor*> make(Plan* plan, const microkernels::F32Microkernels& tiles, int64_t workers,
                                MemoryAllocator& allocator);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Error execute(BackendExecutionContext& context, Span<EValue* const> arguments);

  // Gives storages that are kept between calls their initial contents.
  Error reset_state(const NamedDataMap* named_data);

 private:
  explicit Executor(Plan* plan) : plan_(plan) {}
  Error build(const microkernels::F32Microkernels& tiles, int64_t workers, MemoryAllocator& allocator);
  // Allocates the memory of a storage whose contents are kept between calls, and writes the initial contents.
  Error make_state(uint32_t index, MemoryAllocator& allocator);
  // Recomputes everything that depends on the values of symbols: sizes, strides, bounds, and the preparation of steps.
  Error update(BackendExecutionContext& context);
  Error evaluate();
  // Sets masks[storage]: int8 numbers are stored in the form of GEMM LHS operands if all steps that use them support
  // it.
  void choose_masks(Span<uint8_t> masks);
  Error place_views();
  Error take_symbols(Span<EValue* const> arguments);
  Error take_arguments(BackendExecutionContext& context, Span<EValue* const> arguments);
  Error take_argument(uint32_t index, const Tensor& tensor);
  void set_addresses();
  // Calls take(index) for each value that is an operand of the step.
  template <class F>
  void for_each_value(size_t step, F&& take) const;
  // Poisons the memory that holds no value of an earlier step, in builds with RUSHLIGHT_POISON.
  void poison_before(size_t step, const Run& run);
  // Records the outputs of a step.
  void log_results(size_t step, const EventTracerEntry& entry, EventTracer& tracer) const;
  bool is_used_before(size_t step, uint32_t storage) const;
  bool is_read_by(size_t step, uint32_t storage) const;
  bool is_input_memory(uint32_t storage) const;
  microkernels::FirstWeights first_weights_after(size_t step, int64_t workers) const;

  Plan* const plan_;
  Span<int64_t> symbols_;
  Span<int64_t> expressions_;
  Span<Binder::Slot> slots_;  // [values]
  Span<uint8_t*> bases_;      // [storages]
  Span<int64_t> lengths_;     // [storages], bytes; for arguments: the bytes that their views cover
  Span<Step*> steps_;
  uint8_t* arena_ = nullptr;
  float* scratch_ = nullptr;
  size_t scratch_floats_ = 0;  // for the upper bounds
  size_t needed_floats_ = 0;   // for the sizes of the last call
  int64_t workers_ = 1;
  bool is_current_ = false;
};

}  // namespace rushlight::cpu
