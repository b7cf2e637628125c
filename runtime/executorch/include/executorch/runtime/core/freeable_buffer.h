#pragma once

#include "executorch/runtime/core/result.h"
#include "rushlight/core/data_loader.h"

namespace executorch {
namespace runtime {

// Bytes together with the function that frees them.
using FreeableBuffer = ::rushlight::FreeableBuffer;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::FreeableBuffer;
}  // namespace executor
}  // namespace torch
