// The C library's heap on Windows. It has separate functions for aligned blocks.
#include <malloc.h>

#include "rushlight/platform/platform.h"

extern "C" {

__attribute__((weak)) void* rushlight_allocate(size_t size, size_t alignment) {
  return _aligned_malloc(size ? size : 1, alignment < sizeof(void*) ? sizeof(void*) : alignment);
}

__attribute__((weak)) void rushlight_release(void* memory) { _aligned_free(memory); }
}
