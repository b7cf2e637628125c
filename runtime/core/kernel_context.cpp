#include "rushlight/core/kernel_context.h"

#include <cstdarg>

#include "core/message.h"

namespace rushlight {

#if !defined(RUSHLIGHT_NO_MESSAGES)
void KernelRuntimeContext::fail(Error code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  failure_ = fail_list(code, format, arguments);
  va_end(arguments);
}
#endif

void* KernelRuntimeContext::allocate_temporary(size_t size, size_t alignment) {
  void* memory = temporary_ ? temporary_->allocate(size, alignment) : nullptr;
  if (!memory) {
    fail(Error::MemoryAllocationFailed, "a kernel needs %zu bytes of scratch memory, but the temporary allocator %s",
         size, temporary_ ? "has less free memory" : "is missing");
  }
  return memory;
}

}  // namespace rushlight
