#pragma once

#include <cstdint>

namespace rushlight {

// The result of a function that can fail. The values are equal to the error codes of the ExecuTorch runtime. ExecuTorch
// has no Cancelled.
enum class Error : uint32_t {
  Ok = 0x00,
  Internal = 0x01,
  InvalidState = 0x02,
  EndOfMethod = 0x03,
  AlreadyLoaded = 0x04,
  NotSupported = 0x10,
  NotImplemented = 0x11,
  InvalidArgument = 0x12,
  InvalidType = 0x13,
  OperatorMissing = 0x14,
  RegistrationExceedingMaxKernels = 0x15,
  RegistrationAlreadyRegistered = 0x16,
  NotFound = 0x20,
  MemoryAllocationFailed = 0x21,
  AccessFailed = 0x22,
  InvalidProgram = 0x23,
  InvalidExternalData = 0x24,
  OutOfResources = 0x25,
  DelegateInvalidCompatibility = 0x30,
  DelegateMemoryAllocationFailed = 0x31,
  DelegateInvalidHandle = 0x32,
  Cancelled = 0x100,
};

// Returns the name of an error, for example "InvalidProgram".
const char* to_string(Error error) noexcept;

// Stores a message (printf format, at most 511 characters) as the last error message of this thread. Returns `code`. A
// build with RUSHLIGHT_NO_MESSAGES contains no message texts: fail() then only returns the code.
#if defined(RUSHLIGHT_NO_MESSAGES)
template <typename... Arguments>
inline Error fail(Error code, const char*, const Arguments&...) noexcept {
  return code;
}
#else
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
Error fail(Error code, const char* format, ...) noexcept;
#endif

// Returns the message of the latest fail() on this thread, or "". The text is valid until the next fail().
const char* last_error_message() noexcept;
// Sets the last error message of this thread to "".
void clear_last_error_message() noexcept;

}  // namespace rushlight

// Evaluates an expression of type Error, and returns it from the function unless it is Ok.
#define RL_TRY(expression)                                     \
  do {                                                         \
    const ::rushlight::Error rl_error_ = (expression);         \
    if (rl_error_ != ::rushlight::Error::Ok) return rl_error_; \
  } while (0)

// Returns fail(Error::code, format, ...) from the function unless `condition` holds.
#define RL_REQUIRE(condition, code, ...)                                               \
  do {                                                                                 \
    if (!(condition)) return ::rushlight::fail(::rushlight::Error::code, __VA_ARGS__); \
  } while (0)
