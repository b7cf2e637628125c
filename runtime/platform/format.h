// Text in printf format, without stdio, locale and heap.
#pragma once

#include <cstdarg>
#include <cstddef>

namespace rushlight {

// Writes text into `to`, which has `size` > 0 bytes, ends it with NUL and cuts what does not fit. Returns the length
// that the whole text has. The conversions are d i u x c s g and %, with the flag 0, width, precision (of s and g; *
// too), and the lengths l, ll and z. g shows at most six digits.
int format_list(char* to, size_t size, const char* format, va_list arguments) noexcept;

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int format_text(char* to, size_t size, const char* format, ...) noexcept;

}  // namespace rushlight
