#pragma once

#include <cstdint>

namespace rushlight {

// Result codes. Values are those of the ExecuTorch runtime, so that codes mean the same in both.
enum class Error : uint32_t {
  Ok = 0x00,
  Internal = 0x01,
  InvalidState = 0x02,
  EndOfMethod = 0x03,
  NotSupported = 0x10,
  NotImplemented = 0x11,
  InvalidArgument = 0x12,
  InvalidType = 0x13,
  OperatorMissing = 0x14,
  NotFound = 0x20,
  MemoryAllocationFailed = 0x21,
  AccessFailed = 0x22,
  InvalidProgram = 0x23,
  InvalidExternalData = 0x24,
  OutOfResources = 0x25,
  DelegateInvalidCompatibility = 0x30,
  DelegateMemoryAllocationFailed = 0x31,
  DelegateInvalidHandle = 0x32,
};

// The enumerator's name, for example "InvalidProgram".
const char* to_string(Error error) noexcept;

// Formats a message (at most 511 characters) as this thread's last error message and returns `code`.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
Error fail(Error code, const char* format, ...) noexcept;

// The text given to the latest fail() on this thread, "" if none. Valid until the next fail().
const char* last_error_message() noexcept;
void clear_last_error_message() noexcept;

}  // namespace rushlight

// Returns the error of an expression of type Error, if it is one.
#define RL_TRY(expression)                                     \
  do {                                                         \
    const ::rushlight::Error rl_error_ = (expression);         \
    if (rl_error_ != ::rushlight::Error::Ok) return rl_error_; \
  } while (0)

// Unless `condition` holds, returns fail(code, format, ...).
#define RL_REQUIRE(condition, code, ...)                                               \
  do {                                                                                 \
    if (!(condition)) return ::rushlight::fail(::rushlight::Error::code, __VA_ARGS__); \
  } while (0)
