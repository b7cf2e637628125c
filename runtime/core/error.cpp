#include "rushlight/core/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/message.h"

namespace rushlight {
namespace {

constexpr int kMessageSize = 512;

#if defined(RUSHLIGHT_SINGLE_THREAD)
char message[kMessageSize];
#else
thread_local char message[kMessageSize];
#endif

}  // namespace

const char* to_string(Error error) noexcept {
  switch (error) {
    case Error::Ok:
      return "Ok";
    case Error::Internal:
      return "Internal";
    case Error::InvalidState:
      return "InvalidState";
    case Error::EndOfMethod:
      return "EndOfMethod";
    case Error::NotSupported:
      return "NotSupported";
    case Error::NotImplemented:
      return "NotImplemented";
    case Error::InvalidArgument:
      return "InvalidArgument";
    case Error::InvalidType:
      return "InvalidType";
    case Error::OperatorMissing:
      return "OperatorMissing";
    case Error::NotFound:
      return "NotFound";
    case Error::MemoryAllocationFailed:
      return "MemoryAllocationFailed";
    case Error::AccessFailed:
      return "AccessFailed";
    case Error::InvalidProgram:
      return "InvalidProgram";
    case Error::InvalidExternalData:
      return "InvalidExternalData";
    case Error::OutOfResources:
      return "OutOfResources";
    case Error::DelegateInvalidCompatibility:
      return "DelegateInvalidCompatibility";
    case Error::DelegateMemoryAllocationFailed:
      return "DelegateMemoryAllocationFailed";
    case Error::DelegateInvalidHandle:
      return "DelegateInvalidHandle";
  }
  return "unknown error";
}

Error fail_list(Error code, const char* format, va_list arguments) noexcept {
  char text[kMessageSize];
  if (std::vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = '\0';
  std::memcpy(message, text, std::strlen(text) + 1);
  return code;
}

Error fail(Error code, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  fail_list(code, format, arguments);
  va_end(arguments);
  return code;
}

const char* last_error_message() noexcept { return message; }

void clear_last_error_message() noexcept { message[0] = '\0'; }

}  // namespace rushlight
