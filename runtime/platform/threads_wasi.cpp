// WASI cannot start threads: the host starts the threads of thread_pool_wasi.cpp.
#include "rushlight/platform/platform.h"

extern "C" {

__attribute__((weak)) void* rushlight_thread_start(void (*)(void*), void*) { return nullptr; }
__attribute__((weak)) void rushlight_thread_join(void*) {}
}
