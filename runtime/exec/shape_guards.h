#pragma once

#include <cstdint>

#include "exec/method_state.h"

namespace rushlight {

// A condition on the size of one dimension of an input, on an integer input, or on an integer that the method computes.
struct ShapeGuard {
  static constexpr uint32_t kInteger = 0xFFFFFFFFu;
  static constexpr uint32_t kValue = 0xFFFFFFFEu;
  int64_t low;
  int64_t high;   // -1 for no bound
  int64_t scale;  // the size is scale * symbol + offset
  int64_t offset;
  uint32_t input;  // index of the input; if `dim` is kValue, index of the value
  uint32_t dim;    // kInteger for an integer input, kValue for a computed integer
  uint32_t first;  // index of the first guard with the same symbol
  uint32_t name;   // offset in the data of the name of the input, or of the integer's source
};

// Reads the guards of the method from the named data of the program. Without guards, only the planned sizes limit the
// inputs. Returns InvalidProgram if the data are damaged.
Error load_shape_guards(MethodState& state);

// Checks the range and divisibility of the sizes of an input. If `sizes` is empty, checks an integer input.
Error check_input_range(const MethodState& state, uint32_t input, Span<const SizesType> sizes, int64_t integer);

// Checks that sizes with the same symbol are consistent, after all inputs are set.
Error check_input_relations(const MethodState& state);

// Checks the range of a computed integer that was just written. Other values have no range.
Error check_value_range(const MethodState& state, const EValue& value);

}  // namespace rushlight
