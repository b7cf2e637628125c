#pragma once

#include <cstdint>

#include "exec/method_state.h"
#include "rushlight/core/memory.h"
#include "rushlight/exec/method.h"

namespace rushlight {

// Builds a Method: values, kernels, delegates, instructions. It checks the program once, so that the instruction loop
// needs no checks.
class MethodLoader {
 public:
  static Result<Method> load(const PlanView& plan, const MemoryManager& memory, const Environment& environment);

 private:
  // Properties of a value that are known while the method is loaded.
  enum Flag : uint8_t {
    kRead = 1,      // an instruction or a list refers to the value
    kUnset = 2,     // a tensor without memory until a view call sets it
    kReadOnly = 4,  // the value may refer to a constant
    kWritten = 8,   // an earlier instruction wrote the value, or it has an initial value
    kInput = 16,    // an input of the method
    kState = 32,    // planned memory that an instruction reads before any instruction writes it
  };

  MethodLoader(MethodState& state, const Environment& environment)
      : state_(state), plan_(state.plan), environment_(environment) {}

  // Sets `array` to memory for `count` elements, which are not initialized, or to null if there are none.
  template <typename T>
  Error allocate_array(size_t count, T** array) const {
    void* memory = nullptr;
    const Error error = allocate_elements(count, sizeof(T), alignof(T), &memory);
    *array = static_cast<T*>(memory);
    return error;
  }
  Error allocate_elements(size_t count, size_t size, size_t alignment, void** memory) const;
  const char* method_name() const { return plan_.name().data(); }

  Error run();
  Error check_memories();

  // load_values.cpp
  Error mark_references();
  void propagate_read_only();
  // Whether the instruction calls et_view(self, size, out), which makes `out` a view of `self`.
  bool is_view_call(const InstructionView& view) const;
  Error load_values();
  Error load_scalar(size_t index);
  Error load_tensor(size_t index);
  Error assign_memory(size_t index, const TensorView& view, TensorImpl* tensor);
  Error assign_planned_memory(const TensorView& view, TensorImpl* tensor) const;
  Error load_external(size_t index, const TensorView& view, TensorImpl* tensor);
  Error list_poisoned();
  Error load_list(size_t index);
  template <typename T, typename Item>
  Error load_boxed_list(size_t index, Span<const Item> items);
  Error load_inputs_outputs();
  // Describes a value as an input or output, and lists it in state_.from_caller if its memory is the caller's.
  InputOutput input_or_output(size_t index);

  // load_instructions.cpp
  Error find_operators();
  Error init_delegates();
  Error load_chains();
  Error load_instruction(size_t chain, size_t index, Instruction* out);
  Error load_kernel_call(size_t chain, size_t index, const InstructionView& view, Instruction* out);
  Error choose_kernel(size_t chain, size_t index, const InstructionView& view, EValue* const* arguments,
                      const Kernel** kernel) const;
  Error check_arguments(size_t chain, size_t index, const Kernel& kernel, const InstructionView& view);
  // Checks that a value which the kernel writes is not a constant, a view of a constant, or a list with one.
  Error check_not_constant(size_t chain, size_t index, const Kernel& kernel, size_t value);
  bool is_unset(size_t value) const;
  Error check_memory_of(size_t chain, size_t index, const InstructionView& view);
  Error allocate_restored();
  // Remembers the memory of the result of a view call, which restore_tensors() gives back to it.
  Error record_view(size_t chain, size_t index, const InstructionView& view, Instruction* out);
  // Called for the values that each instruction reads and writes, in the order of the instructions.
  void record_read(size_t value);
  void record_written(size_t value);

  MethodState& state_;
  const PlanView& plan_;
  const Environment& environment_;
  uint8_t* flags_ = nullptr;            // [num_values]
  const Kernel** operators_ = nullptr;  // [num_operators], the first row of each name
  size_t skipped_until_ = 0;            // the largest destination of the jumps so far in a chain
};

}  // namespace rushlight
