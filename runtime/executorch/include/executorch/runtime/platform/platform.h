#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/runtime/platform/compiler.h"
#include "executorch/runtime/platform/types.h"

// The functions of the system. An application replaces them at link time, by defining functions with these names, or at
// run time, with register_pal(). The library defines them as weak symbols over rushlight/platform/platform.h.
extern "C" {

typedef struct {
  uint64_t numerator;
  uint64_t denominator;
} et_tick_ratio_t;

// Log levels, as the letters that messages show.
typedef enum {
  kDebug = 'D',
  kInfo = 'I',
  kError = 'E',
  kFatal = 'F',
  kUnknown = '?',
} et_pal_log_level_t;

// Prepares the platform. runtime_init() calls it.
void et_pal_init(void);
// Ends the process.
ET_NORETURN void et_pal_abort(void);
// Returns the time of a monotonic clock, in ticks.
et_timestamp_t et_pal_current_ticks(void);
// Returns the length of a tick in nanoseconds, as a fraction.
et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void);
// Writes a log message of `length` characters.
void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                             const char* function, size_t line, const char* message, size_t length);
// Returns `size` bytes, or null. et_pal_free() frees them.
void* et_pal_allocate(size_t size);
void et_pal_free(void* ptr);

using pal_init_method = void (*)();
using pal_abort_method = void (*)();
using pal_current_ticks_method = et_timestamp_t (*)();
using pal_ticks_to_ns_multiplier_method = et_tick_ratio_t (*)();
using pal_emit_log_message_method = void (*)(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                                             const char* function, size_t line, const char* message, size_t length);
using pal_allocate_method = void* (*)(size_t size);
using pal_free_method = void (*)(void* ptr);

}  // extern "C"

namespace executorch {
namespace runtime {

// Functions that replace the system's functions at run time; null keeps the function from link time.
struct PalImpl {
  static PalImpl create(pal_emit_log_message_method emit_log_message, const char* source_filename);
  static PalImpl create(pal_init_method init, pal_abort_method abort, pal_current_ticks_method current_ticks,
                        pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
                        pal_emit_log_message_method emit_log_message, pal_allocate_method allocate,
                        pal_free_method free, const char* source_filename);
  pal_init_method init = nullptr;
  pal_abort_method abort = nullptr;
  pal_current_ticks_method current_ticks = nullptr;
  pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier = nullptr;
  pal_emit_log_message_method emit_log_message = nullptr;
  pal_allocate_method allocate = nullptr;
  pal_free_method free = nullptr;
  const char* source_filename = nullptr;
};

// Replaces functions of the system. Call it before runtime_init(). Returns true.
bool register_pal(PalImpl impl);
// Returns the current functions.
const PalImpl* get_pal_impl();

// Call the current functions.
void pal_init();
ET_NORETURN void pal_abort();
et_timestamp_t pal_current_ticks();
et_tick_ratio_t pal_ticks_to_ns_multiplier();
void pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                          const char* function, size_t line, const char* message, size_t length);
void* pal_allocate(size_t size);
void pal_free(void* ptr);

}  // namespace runtime
}  // namespace executorch
