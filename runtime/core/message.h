#pragma once

#include <cstdarg>

#include "rushlight/core/error.h"

namespace rushlight {

// fail() with its arguments as a list. Arguments may point into last_error_message().
Error fail_list(Error code, const char* format, va_list arguments) noexcept;

}  // namespace rushlight
