#include "rushlight/core/error.h"

#include <cstdarg>
#include <cstring>

#include "core/message.h"
#include "platform/format.h"
#include "rushlight/core/result.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

#if defined(RUSHLIGHT_SINGLE_THREAD)
char own_message[kMessageSize];
#else
thread_local char own_message[kMessageSize];
#endif

char* own_buffer() noexcept { return own_message; }

MessageBuffer buffer_of_thread = &own_buffer;

}  // namespace

MessageBuffer message_buffer() noexcept { return buffer_of_thread; }
void set_message_buffer(MessageBuffer buffer) noexcept { buffer_of_thread = buffer; }

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
    case Error::Cancelled:
      return "Cancelled";
#if defined(RUSHLIGHT_NO_MESSAGES)  // errors of the operator registry, which device builds do not contain
    case Error::AlreadyLoaded:
    case Error::RegistrationExceedingMaxKernels:
    case Error::RegistrationAlreadyRegistered:
      break;
#else
    case Error::AlreadyLoaded:
      return "AlreadyLoaded";
    case Error::RegistrationExceedingMaxKernels:
      return "RegistrationExceedingMaxKernels";
    case Error::RegistrationAlreadyRegistered:
      return "RegistrationAlreadyRegistered";
#endif
  }
  return "unknown error";
}

Error fail_list(Error code, const char* format, va_list arguments) noexcept {
  char text[kMessageSize];
  format_list(text, sizeof(text), format, arguments);
  std::memcpy(buffer_of_thread(), text, std::strlen(text) + 1);
  return code;
}

#if !defined(RUSHLIGHT_NO_MESSAGES)
Error fail(Error code, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  fail_list(code, format, arguments);
  va_end(arguments);
  return code;
}
#endif

const char* last_error_message() noexcept { return buffer_of_thread(); }

void clear_last_error_message() noexcept { buffer_of_thread()[0] = '\0'; }

void panic_without_value(Error error) noexcept {
#if defined(RUSHLIGHT_NO_MESSAGES)
  static_cast<void>(error);
  platform::panic("");
#else
  char text[kMessageSize];
  format_text(text, sizeof(text), "cannot read a Result with the error %s: %s", to_string(error), last_error_message());
  platform::panic(text);
#endif
}

}  // namespace rushlight
