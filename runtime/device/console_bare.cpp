// Semihosting: code executes a breakpoint with the number of an operation, which a debugger or QEMU then performs.
#include <cstdint>

#include "device/console.h"

namespace {

constexpr uintptr_t kWrite0 = 0x04, kExitExtended = 0x20, kApplicationExit = 0x20026;

uintptr_t semihosting(uintptr_t operation, const void* parameter) {
#if defined(__arm__)
  register uintptr_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = parameter;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
#else
  register uintptr_t a0 asm("a0") = operation;
  register const void* a1 asm("a1") = parameter;
  // The debugger recognizes the three instructions only in their uncompressed form.
  asm volatile(".option push\n.option norvc\n.balign 16\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
               : "+r"(a0)
               : "r"(a1)
               : "memory");
  return a0;
#endif
}

}  // namespace

extern "C" {

__attribute__((weak)) void rushlight_write(const char* text) { semihosting(kWrite0, text); }

__attribute__((weak)) void rushlight_exit(int code) {
  const uintptr_t block[2] = {kApplicationExit, static_cast<uintptr_t>(code)};
  semihosting(kExitExtended, block);
  for (;;) {
  }
}
}
