#pragma once

#include <cstdarg>
#include <cstddef>

#include "rushlight/core/error.h"

namespace rushlight {

// Does the same as fail(), with the arguments as a list. The arguments may point into last_error_message().
Error fail_list(Error code, const char* format, va_list arguments) noexcept;

// Whether this build has texts of messages. Code that only composes one is left out where it has not.
#if defined(RUSHLIGHT_NO_MESSAGES)
inline constexpr bool kHasMessages = false;
#else
inline constexpr bool kHasMessages = true;
#endif

inline constexpr size_t kMessageSize = 512;

// Returns the message buffer of this thread, which has kMessageSize bytes.
using MessageBuffer = char* (*)() noexcept;

// Makes a shared library write its messages into the buffer of its host.
MessageBuffer message_buffer() noexcept;
void set_message_buffer(MessageBuffer buffer) noexcept;

}  // namespace rushlight
