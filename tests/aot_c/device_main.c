/* Runs a program in C on a board, and shows the bits of its results as the runner of runtime/device does. */
#include <stdint.h>
#include <string.h>

#include "cases.h"

void rushlight_write(const char *text);

static void show(const char *dtype, const void *data, int count, int size) {
  static const char digits[] = "0123456789abcdef";
  rushlight_write("output 0: ");
  rushlight_write(dtype);
  for (int i = 0; i < count; ++i) {
    const uint8_t *bytes = (const uint8_t *)data + i * size;
    char text[20];
    int at = 0;
    text[at++] = ' ';
    for (int j = size - 1; j >= 0; --j) {
      text[at++] = digits[bytes[j] >> 4];
      text[at++] = digits[bytes[j] & 15];
    }
    text[at] = 0;
    rushlight_write(text);
  }
  rushlight_write("\n");
}

int main(void) {
  static OUT_TYPE out[OUT_SIZE];
  for (int i = 0; i < CASES; ++i) {
    if (FUNCTION(inputs + i * IN_SIZE, out) != 0) return 1;
    show(OUT_NAME, out, OUT_SIZE, (int)sizeof out[0]);
  }
  return 0;
}
