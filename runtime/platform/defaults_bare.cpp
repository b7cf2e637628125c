// Without an operating system: no clock, no log and no heap, unless the application defines these functions.
#include "rushlight/platform/platform.h"

extern "C" {

__attribute__((weak)) uint64_t rushlight_now_ns() { return 0; }
__attribute__((weak)) void rushlight_log(int, const char*) {}
__attribute__((weak)) void* rushlight_allocate(size_t, size_t) { return nullptr; }
__attribute__((weak)) void rushlight_release(void*) {}
}
