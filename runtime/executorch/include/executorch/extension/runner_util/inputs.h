#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "executorch/runtime/executor/method.h"

namespace executorch {
namespace extension {

// Owns the memory of inputs, and frees it. The object must outlive the executions that read the inputs.
class BufferCleanup final {
 public:
  // `buffers` is an array from malloc() whose elements are from malloc(), too.
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
  bool hard_code_inputs_to_ones = true;  // must be true: other values are not supported
};

// Sets all inputs of a method: tensors to ones, numbers to their constants. The first inputs are instead read from the
// bytes of `input_buffers`, in order. Errors: InvalidProgram beyond the limits, InvalidArgument for wrong sizes.
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
