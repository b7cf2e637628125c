#pragma once

#include <cstdarg>
#include <cstddef>

#include "rushlight/core/error.h"

namespace rushlight {

// fail() with its arguments as a list. Arguments may point into last_error_message().
Error fail_list(Error code, const char* format, va_list arguments) noexcept;

inline constexpr size_t kMessageSize = 512;

// Gives this thread's buffer of kMessageSize bytes.
using MessageBuffer = char* (*)() noexcept;

// A shared library writes its messages where its host's are.
MessageBuffer message_buffer() noexcept;
void set_message_buffer(MessageBuffer buffer) noexcept;

}  // namespace rushlight
