#pragma once

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/span.h"
#include "rushlight/core/evalue.h"
#include "rushlight/program/method_meta.h"

namespace executorch {
namespace runtime {
namespace internal {

// Logs the error of setting the inputs `first`, `first + 1`, ... to `values`, and returns ExecuTorch's error:
// NotSupported for a tensor of another shape.
Error log_input_error(Error error, const ::rushlight::MethodMeta& meta, size_t first,
                      Span<const ::rushlight::EValue> values);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
