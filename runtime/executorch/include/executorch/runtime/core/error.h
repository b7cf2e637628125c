#pragma once

#include <cstdint>

#include "executorch/runtime/platform/log.h"
#include "rushlight/core/error.h"

namespace executorch {
namespace runtime {

using Error = ::rushlight::Error;
using error_code_t = uint32_t;
// Returns the name of an error, for example "InvalidProgram".
using ::rushlight::to_string;

namespace internal {

// Logs the runtime's message for an error, and returns the error.
Error log_error(Error error);
// Does the same for an error of an argument. Returns InvalidArgument, as ExecuTorch does, for a name that does not
// exist and for a value of another type.
Error log_argument_error(Error error);
// Logs an error message, if there is one.
inline void log_if_any(const char*, const char*, size_t) {}
ET_PRINTFLIKE(4, 5)
void log_if_any(const char* filename, const char* function, size_t line, const char* format, ...);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Error;
using ::executorch::runtime::error_code_t;
}  // namespace executor
}  // namespace torch

// Logs a message and returns an error from the function unless a condition holds, for example
// ET_CHECK_OR_RETURN_ERROR(n > 0, InvalidArgument, "n is %d", n).
#define ET_CHECK_OR_RETURN_ERROR(condition_, error_, message_, ...) \
  {                                                                 \
    if (!(condition_)) {                                            \
      ET_LOG(Error, message_, ##__VA_ARGS__);                       \
      return ::executorch::runtime::Error::error_;                  \
    }                                                               \
  }

#define ET_CHECK_OR_RETURN_FALSE(condition_, message_, ...)                      \
  {                                                                              \
    if (!(condition_)) {                                                         \
      ET_LOG(Error, "Check failed (%s): " message_, #condition_, ##__VA_ARGS__); \
      return false;                                                              \
    }                                                                            \
  }

// Returns an error from the function unless it is Ok. Logs the message if there is one.
#define ET_CHECK_OK_OR_RETURN_ERROR(error_, ...)                                                           \
  do {                                                                                                     \
    const ::executorch::runtime::Error et_error_ = (error_);                                               \
    if (et_error_ != ::executorch::runtime::Error::Ok) {                                                   \
      ::executorch::runtime::internal::log_if_any(ET_SHORT_FILENAME, ET_FUNCTION, ET_LINE, ##__VA_ARGS__); \
      return et_error_;                                                                                    \
    }                                                                                                      \
  } while (0)
