// The defaults for systems without an operating system. There is no clock, log, heap or thread unless the application
// defines these functions.
#include "rushlight/platform/platform.h"

extern "C" {

__attribute__((weak)) uint64_t rushlight_now_ns() { return 0; }
__attribute__((weak)) void rushlight_log(int, const char*) {}
__attribute__((weak)) void rushlight_panic(const char*) { __builtin_trap(); }
__attribute__((weak)) void* rushlight_allocate(size_t, size_t) { return nullptr; }
__attribute__((weak)) void rushlight_release(void*) {}
__attribute__((weak)) void* rushlight_thread_start(void (*)(void*), void*) { return nullptr; }
__attribute__((weak)) void rushlight_thread_join(void*) {}
}
