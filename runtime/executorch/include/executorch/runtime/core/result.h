#pragma once

#include <utility>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/result.h"

namespace executorch {
namespace runtime {

// A value, or the error of the function that should have returned it.
template <typename T>
using Result = ::rushlight::Result<T>;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Result;
}  // namespace executor
}  // namespace torch

// Evaluates to the value of a Result. Returns its error from the function and logs the message, if there is one.
#define ET_UNWRAP(result_, ...)                                                                            \
  __extension__({                                                                                          \
    auto et_result_ = (result_);                                                                           \
    if (!et_result_.ok()) {                                                                                \
      ::executorch::runtime::internal::log_if_any(ET_SHORT_FILENAME, ET_FUNCTION, ET_LINE, ##__VA_ARGS__); \
      return et_result_.error();                                                                           \
    }                                                                                                      \
    std::move(*et_result_);                                                                                \
  })

// Declares a variable with the value of a Result.
#define ET_ASSIGN_OR_RETURN(variable_, result_, ...)                                                     \
  auto et_assign_result_##variable_ = (result_);                                                         \
  if (!et_assign_result_##variable_.ok()) {                                                              \
    ::executorch::runtime::internal::log_if_any(ET_SHORT_FILENAME, ET_FUNCTION, ET_LINE, ##__VA_ARGS__); \
    return et_assign_result_##variable_.error();                                                         \
  }                                                                                                      \
  auto variable_ = std::move(*et_assign_result_##variable_)
