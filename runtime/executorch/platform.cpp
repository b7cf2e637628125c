#include "executorch/runtime/platform/platform.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/platform/abort.h"
#include "executorch/runtime/platform/log.h"
#include "executorch/runtime/platform/runtime.h"
#include "rushlight/platform/platform.h"

extern "C" {

ET_WEAK void et_pal_init(void) {}

ET_NORETURN ET_WEAK void et_pal_abort(void) { std::abort(); }

ET_WEAK et_timestamp_t et_pal_current_ticks(void) { return rushlight_now_ns(); }

ET_WEAK et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) { return {1, 1}; }

ET_WEAK void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                                     const char*, size_t line, const char* message, size_t) {
  const uint64_t us = timestamp / 1000;
  std::fprintf(stderr, "%c %02u:%02u:%02u.%06u executorch:%s:%zu] %s\n", static_cast<char>(level),
               static_cast<unsigned>(us / 3600000000u), static_cast<unsigned>(us / 60000000u % 60u),
               static_cast<unsigned>(us / 1000000u % 60u), static_cast<unsigned>(us % 1000000u), filename, line,
               message);
}

ET_WEAK void* et_pal_allocate(size_t size) { return std::malloc(size); }

ET_WEAK void et_pal_free(void* ptr) { std::free(ptr); }

}  // extern "C"

namespace executorch {
namespace runtime {
namespace {

PalImpl pal{&et_pal_init,
            &et_pal_abort,
            &et_pal_current_ticks,
            &et_pal_ticks_to_ns_multiplier,
            &et_pal_emit_log_message,
            &et_pal_allocate,
            &et_pal_free,
            "et_pal"};

bool is_initialized = false;

template <typename Function>
void replace(Function* function, Function other) {
  if (other) *function = other;
}

// Sends a message of the runtime to the log.
void log_native(::rushlight::platform::LogLevel level, const char* message) {
  const LogLevel levels[] = {LogLevel::Debug, LogLevel::Info, LogLevel::Info, LogLevel::Error};
  const LogLevel shown = levels[static_cast<size_t>(level)];
  if (shown < LogLevel::ET_MIN_LOG_LEVEL) return;
  internal::logf(shown, internal::get_log_timestamp(), "rushlight", "", 0, "%s", message);
}

}  // namespace

PalImpl PalImpl::create(pal_emit_log_message_method emit_log_message, const char* source_filename) {
  PalImpl impl;
  impl.emit_log_message = emit_log_message;
  impl.source_filename = source_filename;
  return impl;
}

PalImpl PalImpl::create(pal_init_method init, pal_abort_method abort, pal_current_ticks_method current_ticks,
                        pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
                        pal_emit_log_message_method emit_log_message, pal_allocate_method allocate,
                        pal_free_method free, const char* source_filename) {
  return {init, abort, current_ticks, ticks_to_ns_multiplier, emit_log_message, allocate, free, source_filename};
}

bool register_pal(PalImpl impl) {
  replace(&pal.init, impl.init);
  replace(&pal.abort, impl.abort);
  replace(&pal.current_ticks, impl.current_ticks);
  replace(&pal.ticks_to_ns_multiplier, impl.ticks_to_ns_multiplier);
  replace(&pal.emit_log_message, impl.emit_log_message);
  replace(&pal.allocate, impl.allocate);
  replace(&pal.free, impl.free);
  replace(&pal.source_filename, impl.source_filename);
  return true;
}

const PalImpl* get_pal_impl() { return &pal; }

void pal_init() { pal.init(); }

void pal_abort() {
  pal.abort();
  std::abort();
}

et_timestamp_t pal_current_ticks() { return pal.current_ticks(); }

et_tick_ratio_t pal_ticks_to_ns_multiplier() { return pal.ticks_to_ns_multiplier(); }

void pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                          const char* function, size_t line, const char* message, size_t length) {
  pal.emit_log_message(timestamp, level, filename, function, line, message, length);
}

void* pal_allocate(size_t size) { return pal.allocate(size); }

void pal_free(void* ptr) { pal.free(ptr); }

void runtime_init() {
  if (is_initialized) return;
  is_initialized = true;
  pal_init();
  ::rushlight::platform::Hooks hooks;
  hooks.log = &log_native;
  ::rushlight::platform::set_hooks(hooks);
}

void runtime_abort() { pal_abort(); }

namespace internal {

et_timestamp_t get_log_timestamp() { return pal_current_ticks(); }

void vlogf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
           const char* format, va_list args) {
  constexpr size_t kMessageSize = 512;
  char message[kMessageSize];
  const int length = std::vsnprintf(message, sizeof(message), format, args);
  if (length < 0) return;
  const et_pal_log_level_t letters[] = {kDebug, kInfo, kError, kFatal};
  const auto index = static_cast<size_t>(level);
  const size_t written =
      static_cast<size_t>(length) < sizeof(message) ? static_cast<size_t>(length) : sizeof(message) - 1;
  pal_emit_log_message(timestamp, index < 4 ? letters[index] : kUnknown, filename, function, line, message, written);
}

void logf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function, size_t line,
          const char* format, ...) {
  va_list args;
  va_start(args, format);
  vlogf(level, timestamp, filename, function, line, format, args);
  va_end(args);
}

void log_if_any(const char* filename, const char* function, size_t line, const char* format, ...) {
  va_list args;
  va_start(args, format);
  vlogf(LogLevel::Error, get_log_timestamp(), filename, function, line, format, args);
  va_end(args);
}

Error log_error(Error error) {
  if (error == Error::Ok || error == Error::EndOfMethod) return error;
  const char* message = ::rushlight::last_error_message();
  ET_LOG(Error, "%s: %s", ::rushlight::to_string(error), message);
  return error;
}

Error log_argument_error(Error error) {
  log_error(error);
  return error == Error::NotFound || error == Error::InvalidType ? Error::InvalidArgument : error;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
