#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns whether two kernels have parameters of the same kinds.
bool have_same_kinds(const BoxedKernel& a, const BoxedKernel& b);
// Returns whether `row` supports all arguments that `other`, a kernel of the same operator, supports.
bool covers(const Kernel& row, const Kernel& other);

}  // namespace rushlight
