#include "platform/format.h"

#include <cstdint>

namespace rushlight {
namespace {

constexpr int kMostDigits = 24;    // of an integer
constexpr int kGeneralDigits = 6;  // of a number that is printed with %g

// The text as far as it fits, and its whole length.
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

// What stands between % and the conversion.
struct Directive {
  bool zeros = false;
  int width = 0;
  int precision = -1;
  int longs = 0;  // 1: l, 2: ll
  bool is_size = false;
};

void put_padded(Sink& sink, const Directive& directive, const char* text, int length) {
  for (int i = length; i < directive.width; ++i) sink.put(directive.zeros ? '0' : ' ');
  sink.put(text, static_cast<size_t>(length));
}

void put_integer(Sink& sink, const Directive& directive, uint64_t magnitude, bool is_negative, unsigned base) {
  char digits[kMostDigits];
  int at = kMostDigits;
  do {
    digits[--at] = "0123456789abcdef"[magnitude % base];
    magnitude /= base;
  } while (magnitude != 0);
  if (is_negative) digits[--at] = '-';
  put_padded(sink, directive, digits + at, kMostDigits - at);
}

// Scales a positive finite number to [1, 10), and returns the power of ten that it was divided by.
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

// The digits of a positive finite number, rounded and without zeros at the end. Returns their count.
int significant_digits(double number, int most, char* digits, int* exponent) {
  *exponent = scale_to_one_digit(&number);
  uint64_t one = 1;
  for (int i = 1; i < most; ++i) one *= 10;
  uint64_t rounded = static_cast<uint64_t>(number * static_cast<double>(one) + 0.5);
  if (rounded >= 10 * one) {
    rounded = one;
    ++*exponent;
  }
  for (int i = most; i-- > 0; rounded /= 10) digits[i] = static_cast<char>('0' + rounded % 10);
  int count = most;
  while (count > 1 && digits[count - 1] == '0') --count;
  return count;
}

void put_general(Sink& sink, const Directive& directive, double number) {
  char text[40];
  size_t at = 0;
  if (__builtin_signbit(number)) text[at++] = '-', number = -number;
  if (!(number < __builtin_inf())) {
    for (const char* name = number != number ? "nan" : "inf"; *name; ++name) text[at++] = *name;
    return put_padded(sink, directive, text, static_cast<int>(at));
  }
  char digits[kGeneralDigits] = {'0'};
  int exponent = 0, count = 1;
  const int most =
      directive.precision > 0 && directive.precision < kGeneralDigits ? directive.precision : kGeneralDigits;
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
  put_padded(sink, directive, text, static_cast<int>(at));
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
  for (; **format == '0'; ++*format) directive.zeros = true;
  directive.width = read_number(format, arguments);
  if (**format == '.') {
    ++*format;
    directive.precision = read_number(format, arguments);
  }
  for (; **format == 'l'; ++*format) ++directive.longs;
  for (; **format == 'z'; ++*format) directive.is_size = true;
  return directive;
}

int64_t signed_argument(const Directive& directive, va_list* arguments) {
  if (directive.longs == 2) return va_arg(*arguments, long long);
  if (directive.longs == 1) return va_arg(*arguments, long);
  return directive.is_size ? static_cast<int64_t>(va_arg(*arguments, size_t)) : va_arg(*arguments, int);
}

uint64_t unsigned_argument(const Directive& directive, va_list* arguments) {
  if (directive.longs == 2) return va_arg(*arguments, unsigned long long);
  if (directive.longs == 1) return va_arg(*arguments, unsigned long);
  return directive.is_size ? va_arg(*arguments, size_t) : va_arg(*arguments, unsigned);
}

void convert(Sink& sink, char conversion, const Directive& directive, va_list* arguments) {
  switch (conversion) {
    case 'd':
    case 'i': {
      const int64_t number = signed_argument(directive, arguments);
      const auto bits = static_cast<uint64_t>(number);
      return put_integer(sink, directive, number < 0 ? 0 - bits : bits, number < 0, 10);
    }
    case 'u':
      return put_integer(sink, directive, unsigned_argument(directive, arguments), false, 10);
    case 'x':
      return put_integer(sink, directive, unsigned_argument(directive, arguments), false, 16);
    case 'c': {
      const char character = static_cast<char>(va_arg(*arguments, int));
      return put_padded(sink, directive, &character, 1);
    }
    case 's':
      return put_string(sink, directive, va_arg(*arguments, const char*));
    case 'g':
      return put_general(sink, directive, va_arg(*arguments, double));
    default:
      return sink.put(conversion);
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
    const Directive directive = read_directive(&format, &rest);
    if (*format == '\0') break;
    convert(sink, *format++, directive, &rest);
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
