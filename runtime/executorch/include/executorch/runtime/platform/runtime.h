#pragma once

#include "executorch/runtime/platform/compiler.h"
#include "executorch/runtime/platform/platform.h"

namespace executorch {
namespace runtime {

// Prepares the process: calls et_pal_init(), and sends the runtime's messages to et_pal_emit_log_message(). Call this
// function before any other function of the runtime. Further calls do nothing.
void runtime_init();

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::runtime_init;
}  // namespace executor
}  // namespace torch
