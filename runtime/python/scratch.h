#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight::python {

void call_boxed(const BoxedKernel& boxed, EValue* const* values, Error* failure);

}  // namespace rushlight::python
