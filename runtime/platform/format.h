// Formats text as printf does, without stdio, locale and heap.
#pragma once

#include <cstdarg>
#include <cstddef>

namespace rushlight {

// Writes text into `to`, which has `size` > 0 bytes. The text ends with NUL; characters that do not fit are cut.
// Returns the length of the complete text. The supported conversions are d i u x X p c s f g e and %, with the flags 0
// - + and space, a width, a precision (also *), and all length modifiers of integers. There are these differences from
// printf: X writes lowercase digits; g writes at most six digits, rounded half up; f writes numbers with more than 15
// digits like g; e writes all numbers like g; s and c write control characters as question marks. At an unknown
// conversion, the rest of the format is copied.
int format_list(char* to, size_t size, const char* format, va_list arguments) noexcept;

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int format_text(char* to, size_t size, const char* format, ...) noexcept;

}  // namespace rushlight
