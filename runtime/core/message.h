#pragma once

#include <cstdarg>
#include <cstddef>

#include "rushlight/core/error.h"

namespace rushlight {

// Does the same as fail(), with the arguments as a va_list. The arguments may point into last_error_message().
Error fail_list(Error code, const char* format, va_list arguments) noexcept;

// Whether this build contains message texts. In a build without them, code that only builds a message is not compiled.
#if defined(RUSHLIGHT_NO_MESSAGES)
inline constexpr bool kHasMessages = false;
#else
inline constexpr bool kHasMessages = true;
#endif

// Returns the end of a noun that follows a number in a message: "" or "s".
constexpr const char* plural(unsigned long long count) { return count == 1 ? "" : "s"; }

inline constexpr size_t kMessageSize = 512;

// A function that returns the message buffer of this thread, which has kMessageSize bytes.
using MessageBuffer = char* (*)() noexcept;

// Gets or sets the buffer function. A shared library uses the function of its host, so that both share one buffer.
MessageBuffer message_buffer() noexcept;
void set_message_buffer(MessageBuffer buffer) noexcept;

}  // namespace rushlight
