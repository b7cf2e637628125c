#pragma once

#include <cstdint>

#include "exec/method_state.h"

namespace rushlight {

// What the size of one dim of an input, an integer input, or an integer that the method computes must satisfy.
struct ShapeGuard {
  static constexpr uint32_t kInteger = 0xFFFFFFFFu;
  static constexpr uint32_t kValue = 0xFFFFFFFEu;
  int64_t low;
  int64_t high;   // -1 for no bound
  int64_t scale;  // the size is scale * symbol + offset
  int64_t offset;
  uint32_t input;  // of kValue, the index of the value
  uint32_t dim;    // kInteger for an integer input, kValue for a computed integer
  uint32_t first;  // the first guard of the same symbol
  uint32_t name;   // where the name of the input, or of what the integer is read from, begins in the data
};

// Reads the guards of the method from the program's named data; a program without them is bounded by its planned
// sizes alone. InvalidProgram: the data is damaged.
Error load_shape_guards(MethodState& state);

// Checks range and divisibility of the sizes given for an input (of the integer, sizes being empty).
Error check_input_range(const MethodState& state, uint32_t input, Span<const SizesType> sizes, int64_t integer);

// Checks that sizes which share a symbol agree, all inputs being set.
Error check_input_relations(const MethodState& state);

// Checks the range of a computed integer that has just been written; any other value has none.
Error check_value_range(const MethodState& state, const EValue& value);

}  // namespace rushlight
