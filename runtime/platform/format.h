// Formats text as printf does, without stdio, locale and heap.
#pragma once

#include <cstdarg>
#include <cstddef>

namespace rushlight {

// Writes text into `to`, which has `size` > 0 bytes. The text ends with NUL; characters that do not fit are cut.
// Returns the length of the whole text. The conversions are d i u x X p c s f g e and %, with the flags 0 - + and
// space, width, precision (of s, f and g; * too), and all lengths of integers. X writes lowercase digits. g shows at
// most six digits, rounded half up; f shows numbers with more than 15 digits as g does, and e shows all numbers as g
// does. At an unknown conversion, the rest of the format is copied.
int format_list(char* to, size_t size, const char* format, va_list arguments) noexcept;

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int format_text(char* to, size_t size, const char* format, ...) noexcept;

}  // namespace rushlight
