#pragma once

#include <cinttypes>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "executorch/runtime/platform/compiler.h"
#include "executorch/runtime/platform/types.h"

// The lowest level that ET_LOG() writes, and whether ET_LOG() writes anything.
#ifndef ET_MIN_LOG_LEVEL
#define ET_MIN_LOG_LEVEL Info
#endif
#ifndef ET_LOG_ENABLED
#define ET_LOG_ENABLED 1
#endif

namespace executorch {
namespace runtime {

enum class LogLevel : uint8_t { Debug, Info, Error, Fatal, NumLevels };

namespace internal {

et_timestamp_t get_log_timestamp();
// Writes a message in printf format, cut at 511 characters.
ET_PRINTFLIKE(6, 0)
void vlogf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
           const char* format, va_list args);
ET_PRINTFLIKE(6, 7)
void logf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
          const char* format, ...);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::LogLevel;
}  // namespace executor
}  // namespace torch

// ET_LOG(Info, "%d methods", count) writes a message in printf format.
#if ET_LOG_ENABLED
#define ET_LOG(level_, format_, ...)                                                                                 \
  do {                                                                                                               \
    if (static_cast<uint32_t>(::executorch::runtime::LogLevel::level_) >=                                            \
        static_cast<uint32_t>(::executorch::runtime::LogLevel::ET_MIN_LOG_LEVEL)) {                                  \
      ::executorch::runtime::internal::logf(::executorch::runtime::LogLevel::level_,                                 \
                                            ::executorch::runtime::internal::get_log_timestamp(), ET_SHORT_FILENAME, \
                                            ET_FUNCTION, ET_LINE, format_, ##__VA_ARGS__);                           \
    }                                                                                                                \
  } while (0)
#define ET_CHECK_OR_LOG_ERROR(condition_, format_, ...)       \
  do {                                                        \
    if (!(condition_)) ET_LOG(Error, format_, ##__VA_ARGS__); \
  } while (0)
#else
#define ET_LOG(level_, format_, ...) ((void)0)
#define ET_CHECK_OR_LOG_ERROR(condition_, format_, ...) ((void)0)
#endif
