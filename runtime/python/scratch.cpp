#include "python/scratch.h"

#include "rushlight/platform/platform.h"

namespace rushlight::python {

namespace {
constexpr size_t kScratchBytes = size_t{1} << 28;  // touched pages alone cost memory
}

void call_boxed(const BoxedKernel& boxed, EValue* const* values, Error* failure) {
  void* scratch = platform::allocate(kScratchBytes, 64);
  BufferAllocator temporary(scratch, scratch ? kScratchBytes : 0);
  KernelRuntimeContext context(&temporary, nullptr);
  boxed.call(context, values);
  *failure = context.failure();
  platform::release(scratch);
}

}  // namespace rushlight::python
