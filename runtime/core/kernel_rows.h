#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Returns whether two kernels have parameters of the same kinds.
bool have_same_kinds(const BoxedKernel& a, const BoxedKernel& b);
// Returns whether the kernel of `row` takes everything that the kernel of `other` takes; both have the same operator.
bool covers(const Kernel& row, const Kernel& other);

}  // namespace rushlight
