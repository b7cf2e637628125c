// This module exports the functions of rushlight.h to JavaScript. js/rushlight.js reads the structs by these offsets.
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <version>

#include "c/data_files.h"
#include "module/files.h"
#include "rushlight.h"
#include "rushlight/platform/platform.h"

// The C++ library calls these functions when it cannot continue. The library's own versions print a message and need
// the whole of printf.
#if defined(_LIBCPP_VERSION)
_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept { __builtin_trap(); }
_LIBCPP_END_NAMESPACE_STD
#endif
extern "C" {
[[noreturn]] void __cxa_pure_virtual() { __builtin_trap(); }
[[noreturn]] void __abort_message(const char*, ...) { __builtin_trap(); }

// JavaScript has no environment variables.
char* getenv(const char*) { return nullptr; }

// Writes warnings and errors to the console without the streams of the C library.
void rushlight_log(int level, const char* message) {
  if (level < static_cast<int>(rushlight::platform::LogLevel::Warning)) return;
  const bool is_error = level == static_cast<int>(rushlight::platform::LogLevel::Error);
  for (const char* text : {is_error ? "rushlight error: " : "rushlight warning: ", message, "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
  }
}

void rushlight_panic(const char* message) {
  rushlight_log(static_cast<int>(rushlight::platform::LogLevel::Error), message);
  __builtin_trap();
}
}

// Programs and data come from JavaScript as bytes, so these functions replace those of module/files_unix.cpp.
namespace rushlight {

Result<OpenFile> open_file(const char* path) {
  return fail(Error::AccessFailed, "cannot open '%.300s': this build reads no files; pass the bytes", path);
}
Result<OpenFile> describe_file(int) { return fail(Error::AccessFailed, "this build reads no files; pass the bytes"); }
void close_file(int) {}
Error read_range(int, size_t, size_t, void*) {
  return fail(Error::AccessFailed, "this build reads no files; pass the bytes");
}
Result<std::shared_ptr<LoadedData>> load_data_files(Span<const char* const>) {
  return fail(Error::AccessFailed, "this build reads no files");
}

}  // namespace rushlight

static_assert(sizeof(rushlight_value) == 120 && offsetof(rushlight_value, kind) == 0);
static_assert(offsetof(rushlight_value, dtype) == 4 && offsetof(rushlight_value, rank) == 8);
static_assert(offsetof(rushlight_value, sizes) == 12 && offsetof(rushlight_value, dim_order) == 76);
static_assert(offsetof(rushlight_value, data) == 92 && offsetof(rushlight_value, nbytes) == 96);
static_assert(offsetof(rushlight_value, integer) == 104 && offsetof(rushlight_value, real) == 112);
static_assert(sizeof(rushlight_value_info) == 104 && offsetof(rushlight_value_info, kind) == 4);
static_assert(offsetof(rushlight_value_info, dtype) == 8 && offsetof(rushlight_value_info, rank) == 12);
static_assert(offsetof(rushlight_value_info, dynamism) == 16 && offsetof(rushlight_value_info, sizes) == 20);
static_assert(offsetof(rushlight_value_info, dim_order) == 84);
static_assert(sizeof(rushlight_method_info) == 24 && offsetof(rushlight_method_info, outputs) == 8);
static_assert(sizeof(rushlight_method_options) == 32 && offsetof(rushlight_method_options, threads) == 4);
