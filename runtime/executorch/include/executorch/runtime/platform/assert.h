#pragma once

#include "executorch/runtime/platform/abort.h"
#include "executorch/runtime/platform/compiler.h"
#include "executorch/runtime/platform/log.h"

// ET_CHECK ends the process unless a condition holds. ET_DCHECK does so only in builds without NDEBUG.
#define ET_ASSERT_MESSAGE_EMIT(format_, ...) ET_LOG(Fatal, "%s() fails" format_, ET_FUNCTION, ##__VA_ARGS__)

#define ET_CHECK_MSG(condition_, format_, ...)                               \
  do {                                                                       \
    if (!(condition_)) {                                                     \
      ET_ASSERT_MESSAGE_EMIT(" (%s): " format_, #condition_, ##__VA_ARGS__); \
      ::executorch::runtime::runtime_abort();                                \
    }                                                                        \
  } while (0)

#define ET_CHECK(condition_)                       \
  do {                                             \
    if (!(condition_)) {                           \
      ET_ASSERT_MESSAGE_EMIT(": %s", #condition_); \
      ::executorch::runtime::runtime_abort();      \
    }                                              \
  } while (0)

#if defined(NDEBUG)
#define ET_DCHECK_MSG(condition_, format_, ...) ((void)0)
#define ET_DCHECK(condition_) ((void)0)
#define ET_DEBUG_ONLY [[maybe_unused]]
#else
#define ET_DCHECK_MSG(condition_, format_, ...) ET_CHECK_MSG(condition_, format_, ##__VA_ARGS__)
#define ET_DCHECK(condition_) ET_CHECK(condition_)
#define ET_DEBUG_ONLY
#endif

#define ET_ASSERT_UNREACHABLE()                         \
  do {                                                  \
    ET_CHECK_MSG(false, "this line cannot be reached"); \
    ET_UNREACHABLE();                                   \
  } while (0)

#define ET_ASSERT_UNREACHABLE_MSG(format_, ...)                                  \
  do {                                                                           \
    ET_CHECK_MSG(false, "this line cannot be reached. " format_, ##__VA_ARGS__); \
    ET_UNREACHABLE();                                                            \
  } while (0)
