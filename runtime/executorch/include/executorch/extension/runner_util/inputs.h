#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "executorch/runtime/executor/method.h"

namespace executorch {
namespace extension {

// Memory of inputs, which it frees. It outlives the executions that read the inputs.
class BufferCleanup final {
 public:
  // `buffers` is an array of malloc() of pieces of malloc().
  explicit BufferCleanup(runtime::Span<void*> buffers) : buffers_(buffers) {}
  BufferCleanup(BufferCleanup&& other) noexcept : buffers_(std::exchange(other.buffers_, {})) {}
  BufferCleanup(const BufferCleanup&) = delete;
  BufferCleanup& operator=(const BufferCleanup&) = delete;
  BufferCleanup& operator=(BufferCleanup&&) = delete;
  ~BufferCleanup();

 private:
  runtime::Span<void*> buffers_;
};

// The limits of prepare_input_tensors().
struct PrepareInputTensorsOptions {
  size_t max_total_allocation_size = 1024 * 1024 * 1024;  // bytes
  size_t max_inputs = 1024;
  bool hard_code_inputs_to_ones = true;  // no other values are available
};

// Sets all inputs of a method: tensors of ones, and for numbers their constants. Inputs that `input_buffers` has are
// read from these bytes, in order. Errors: InvalidProgram beyond the limits, InvalidArgument if bytes do not fit.
runtime::Result<BufferCleanup> prepare_input_tensors(runtime::Method& method, PrepareInputTensorsOptions options = {},
                                                     const std::vector<std::pair<char*, size_t>>& input_buffers = {});

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::BufferCleanup;
using ::executorch::extension::prepare_input_tensors;
using ::executorch::extension::PrepareInputTensorsOptions;
}  // namespace util
}  // namespace executor
}  // namespace torch
