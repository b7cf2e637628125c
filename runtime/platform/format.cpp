#include "platform/format.h"

#include <cstdint>

namespace rushlight {
namespace {

constexpr int kMaxDigits = 24;                         // of an integer
constexpr int kGeneralDigits = 6;                      // of a number that is printed with %g
constexpr int kFixedDigits = 6;                        // after the point, with %f
constexpr uint64_t kMaxFixed = 1'000'000'000'000'000;  // a larger double does not have an exact digit in each place

// Writes text into a buffer, cuts it to the size of the buffer, and counts the complete length.
class Sink {
 public:
  Sink(char* to, size_t size) : to_(to), size_(size) {}
  void put(char character) {
    if (length_ + 1 < size_) to_[length_] = character;
    ++length_;
  }
  void put(const char* text, size_t length) {
    for (size_t i = 0; i < length; ++i) put(text[i]);
  }
  int finish() {
    to_[length_ < size_ ? length_ : size_ - 1] = '\0';
    return static_cast<int>(length_);
  }

 private:
  char* to_;
  size_t size_;
  size_t length_ = 0;
};

// The parts of a conversion between % and its letter: flags, width, precision and length.
struct Directive {
  bool zeros = false;
  bool is_left = false;
  char plus = '\0';  // first character of a number that is not negative
  int width = 0;
  int precision = -1;
  char length = '\0';  // L stands for ll
};

bool is_control(char character) { return static_cast<unsigned char>(character) < 0x20 || character == 0x7f; }

// `text` begins with `signs` characters that come before padding zeros. Control characters become question marks: names
// in a file must not end a line of a log or change the state of a terminal.
void put_padded(Sink& sink, const Directive& directive, const char* text, int length, int signs = 0) {
  const bool zeros = directive.zeros && !directive.is_left;
  if (zeros) sink.put(text, static_cast<size_t>(signs));
  for (int i = length; i < directive.width && !directive.is_left; ++i) sink.put(zeros ? '0' : ' ');
  const int written = zeros ? signs : 0;
  for (int i = written; i < length; ++i) sink.put(is_control(text[i]) ? '?' : text[i]);
  for (int i = length; i < directive.width && directive.is_left; ++i) sink.put(' ');
}

// Writes the digits of a number so that they end at `end`. Returns the address of the first digit.
char* digits_before(char* end, uint64_t number, unsigned base) {
  do {
    *--end = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  return end;
}

void put_integer(Sink& sink, const Directive& directive, uint64_t magnitude, char sign, unsigned base) {
  char text[kMaxDigits];
  char* const end = text + kMaxDigits;
  // The precision is the minimum number of digits; the number 0 with precision 0 has no digits.
  char* begin = magnitude == 0 && directive.precision == 0 ? end : digits_before(end, magnitude, base);
  while (end - begin < directive.precision && begin > text + 1) *--begin = '0';
  if (sign != '\0') *--begin = sign;
  put_padded(sink, directive, begin, static_cast<int>(end - begin), sign != '\0');
}

// Rounds a number that is not negative and smaller than 2^63.
uint64_t rounded_half_up(double number) {
  const auto whole = static_cast<uint64_t>(number);
  return whole + (number - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

// Scales a positive finite number to [1, 10). Returns the power of ten by which it was divided.
int scale_to_one_digit(double* number) {
  static constexpr struct {
    double power;
    int exponent;
  } kSteps[] = {{1e256, 256}, {1e128, 128}, {1e64, 64}, {1e32, 32}, {1e16, 16}, {1e8, 8}, {1e4, 4}, {1e2, 2}, {1e1, 1}};
  int exponent = 0;
  if (*number >= 1) {
    for (const auto& step : kSteps) {
      if (*number < step.power) continue;
      *number /= step.power;
      exponent += step.exponent;
    }
    return exponent;
  }
  for (const auto& step : kSteps) {
    if (*number * step.power >= 10) continue;
    *number *= step.power;
    exponent -= step.exponent;
  }
  return exponent;
}

// Writes the digits of a positive finite number, rounded and without trailing zeros. Returns the number of digits.
int significant_digits(double number, int most, char* digits, int* exponent) {
  *exponent = scale_to_one_digit(&number);
  uint64_t one = 1;
  for (int i = 1; i < most; ++i) one *= 10;
  uint64_t rounded = rounded_half_up(number * static_cast<double>(one));
  if (rounded >= 10 * one) {
    rounded = one;
    ++*exponent;
  }
  for (int i = most; i-- > 0; rounded /= 10) digits[i] = static_cast<char>('0' + rounded % 10);
  int count = most;
  while (count > 1 && digits[count - 1] == '0') --count;
  return count;
}

// Writes a number like %g. Returns the length of the text.
size_t write_general(char* text, int precision, double number) {
  size_t at = 0;
  if (!(number < __builtin_inf())) {
    for (const char* name = number != number ? "nan" : "inf"; *name; ++name) text[at++] = *name;
    return at;
  }
  char digits[kGeneralDigits] = {'0'};
  int exponent = 0, count = 1;
  const int most = precision > 0 && precision < kGeneralDigits ? precision : kGeneralDigits;
  if (number > 0) count = significant_digits(number, most, digits, &exponent);
  const bool is_scientific = exponent < -4 || exponent >= most;
  int point = is_scientific ? 1 : exponent + 1;  // digits before the point
  if (point <= 0) {
    text[at++] = '0', text[at++] = '.';
    for (; point < 0; ++point) text[at++] = '0';
    point = -1;
  }
  for (int i = 0; i < count || i < point; ++i) {
    if (i == point) text[at++] = '.';
    text[at++] = i < count ? digits[i] : '0';
  }
  if (is_scientific) {
    text[at++] = 'e';
    text[at++] = exponent < 0 ? '-' : '+';
    if (exponent < 0) exponent = -exponent;
    if (exponent >= 100) text[at++] = static_cast<char>('0' + exponent / 100);
    text[at++] = static_cast<char>('0' + exponent / 10 % 10);
    text[at++] = static_cast<char>('0' + exponent % 10);
  }
  return at;
}

// Writes a number like %f, or like %g if it has too many digits. Returns the length of the text.
size_t write_fixed(char* text, int precision, double number) {
  if (precision < 0) precision = kFixedDigits;
  uint64_t one = 1;
  for (int i = 0; i < precision && one < kMaxFixed; ++i) one *= 10;
  if (!(number * static_cast<double>(one) < static_cast<double>(kMaxFixed))) return write_general(text, -1, number);
  const auto scaled = rounded_half_up(number * static_cast<double>(one));
  char digits[kMaxDigits];
  size_t at = 0;
  for (char* next = digits_before(digits + kMaxDigits, scaled / one, 10); next != digits + kMaxDigits;) {
    text[at++] = *next++;
  }
  if (precision > 0) text[at++] = '.';
  for (uint64_t unit = one / 10; unit != 0; unit /= 10) text[at++] = static_cast<char>('0' + scaled / unit % 10);
  return at;
}

void put_number(Sink& sink, const Directive& directive, char conversion, double number) {
  char text[kMaxDigits * 2];
  text[0] = directive.plus;
  if (__builtin_signbit(number)) text[0] = '-', number = -number;
  const size_t signs = text[0] != '\0';
  const size_t length = conversion == 'f' ? write_fixed(text + signs, directive.precision, number)
                                          : write_general(text + signs, directive.precision, number);
  put_padded(sink, directive, text, static_cast<int>(length + signs), static_cast<int>(signs));
}

void put_string(Sink& sink, const Directive& directive, const char* text) {
  if (text == nullptr) text = "(null)";
  int length = 0;
  while (length != directive.precision && text[length] != '\0') ++length;
  put_padded(sink, directive, text, length);
}

int read_number(const char** format, va_list* arguments) {
  if (**format == '*') {
    ++*format;
    return va_arg(*arguments, int);
  }
  int number = 0;
  for (; **format >= '0' && **format <= '9'; ++*format) number = number * 10 + (**format - '0');
  return number;
}

Directive read_directive(const char** format, va_list* arguments) {
  Directive directive;
  for (;; ++*format) {
    const char flag = **format;
    if (flag == '0') {
      directive.zeros = true;
    } else if (flag == '-') {
      directive.is_left = true;
    } else if (flag == '+' || flag == ' ') {
      directive.plus = flag;
    } else if (flag != '#') {
      break;
    }
  }
  directive.width = read_number(format, arguments);
  if (**format == '.') {
    ++*format;
    directive.precision = read_number(format, arguments);
  }
  for (; **format == 'l' || **format == 'h' || **format == 'z' || **format == 'j' || **format == 't'; ++*format) {
    directive.length = directive.length == 'l' ? 'L' : **format;
  }
  return directive;
}

// Arguments that are shorter than int are passed as int.
int64_t signed_argument(const Directive& directive, va_list* arguments) {
  switch (directive.length) {
    case 'L':
      return va_arg(*arguments, long long);
    case 'l':
      return va_arg(*arguments, long);
    case 'j':
      return va_arg(*arguments, intmax_t);
    case 'z':
    case 't':
      return va_arg(*arguments, ptrdiff_t);
    default:
      return va_arg(*arguments, int);
  }
}

uint64_t unsigned_argument(const Directive& directive, va_list* arguments) {
  switch (directive.length) {
    case 'L':
      return va_arg(*arguments, unsigned long long);
    case 'l':
      return va_arg(*arguments, unsigned long);
    case 'j':
      return va_arg(*arguments, uintmax_t);
    case 'z':
    case 't':
      return va_arg(*arguments, size_t);
    default:
      return va_arg(*arguments, unsigned);
  }
}

// Returns false for an unknown conversion, whose argument cannot be skipped.
bool convert(Sink& sink, char conversion, const Directive& directive, va_list* arguments) {
  switch (conversion) {
    case 'd':
    case 'i': {
      const int64_t number = signed_argument(directive, arguments);
      const auto bits = static_cast<uint64_t>(number);
      put_integer(sink, directive, number < 0 ? 0 - bits : bits, number < 0 ? '-' : directive.plus, 10);
      return true;
    }
    case 'u':
      put_integer(sink, directive, unsigned_argument(directive, arguments), '\0', 10);
      return true;
    case 'x':
    case 'X':
      put_integer(sink, directive, unsigned_argument(directive, arguments), '\0', 16);
      return true;
    case 'p':
      sink.put("0x", 2);
      put_integer(sink, directive, reinterpret_cast<uintptr_t>(va_arg(*arguments, const void*)), '\0', 16);
      return true;
    case 'c': {
      const char character = static_cast<char>(va_arg(*arguments, int));
      put_padded(sink, directive, &character, 1);
      return true;
    }
    case 's':
      put_string(sink, directive, va_arg(*arguments, const char*));
      return true;
    case 'e':
    case 'f':
    case 'g':
      put_number(sink, directive, conversion, va_arg(*arguments, double));
      return true;
    case '%':
      sink.put('%');
      return true;
    default:
      return false;
  }
}

}  // namespace

int format_list(char* to, size_t size, const char* format, va_list arguments) noexcept {
  Sink sink(to, size);
  va_list rest;
  va_copy(rest, arguments);
  while (*format != '\0') {
    const char character = *format++;
    if (character != '%') {
      sink.put(character);
      continue;
    }
    const char* const begin = format;
    const Directive directive = read_directive(&format, &rest);
    if (*format != '\0' && convert(sink, *format, directive, &rest)) {
      ++format;
      continue;
    }
    sink.put('%');
    for (format = begin; *format != '\0'; ++format) sink.put(*format);
  }
  va_end(rest);
  return sink.finish();
}

int format_text(char* to, size_t size, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const int length = format_list(to, size, format, arguments);
  va_end(arguments);
  return length;
}

}  // namespace rushlight
