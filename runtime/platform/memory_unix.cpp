// The C library's heap, on POSIX and WASI.
#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "rushlight/platform/platform.h"

extern "C" {

__attribute__((weak)) void* rushlight_allocate(size_t size, size_t alignment) {
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  void* memory = nullptr;
#if defined(MADV_HUGEPAGE)
  // Blocks of at least twice this size use pages of this size. The system allocates a page at its first access, which
  // is faster for one large page than for 512 small pages.
  constexpr size_t kLargePage = size_t{2} << 20;
  if (size >= 2 * kLargePage && alignment <= kLargePage && posix_memalign(&memory, kLargePage, size) == 0) {
    madvise(memory, size / kLargePage * kLargePage, MADV_HUGEPAGE);
    return memory;
  }
#endif
  return posix_memalign(&memory, alignment, size ? size : 1) == 0 ? memory : nullptr;
}

__attribute__((weak)) void rushlight_release(void* memory) { std::free(memory); }
}
