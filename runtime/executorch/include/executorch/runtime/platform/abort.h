#pragma once

#include "executorch/runtime/platform/compiler.h"

namespace executorch {
namespace runtime {

// Ends the process with et_pal_abort().
ET_NORETURN void runtime_abort();

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::runtime_abort;
}  // namespace executor
}  // namespace torch
