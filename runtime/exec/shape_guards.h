#pragma once

#include <cstdint>

#include "exec/method_state.h"

namespace rushlight {

// What the size of one dim of an input, or an integer input, must satisfy.
struct ShapeGuard {
  static constexpr uint32_t kInteger = 0xFFFFFFFFu;
  int64_t low;
  int64_t high;   // -1 for no bound
  int64_t scale;  // the size is scale * symbol + offset
  int64_t offset;
  uint32_t input;
  uint32_t dim;    // kInteger for an integer input
  uint32_t first;  // the first guard of the same symbol
  uint32_t name;   // where the input's name begins in the data
};

// Reads the guards of the method from the program's named data; a program without them is bounded by its planned
// sizes alone. InvalidProgram: the data is damaged.
Error load_shape_guards(MethodState& state);

// Checks range and divisibility of the sizes given for an input (of the integer, sizes being empty).
Error check_input_range(const MethodState& state, uint32_t input, Span<const SizesType> sizes, int64_t integer);

// Checks that sizes which share a symbol agree, all inputs being set.
Error check_input_relations(const MethodState& state);

}  // namespace rushlight
