#pragma once

#include <cstdint>

namespace rushlight {

// Returns the smallest multiple of `multiple` that is not less than `value`; value >= 0, multiple > 0.
inline constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// Returns value / by, rounded up; value >= 0, by > 0.
inline constexpr int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

}  // namespace rushlight
