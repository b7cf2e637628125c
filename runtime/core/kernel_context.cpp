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

void KernelRuntimeContext::run_ranges(int64_t begin, int64_t end, int64_t grain,
                                      void (*call)(const void* function, int64_t first, int64_t last),
                                      const void* function) {
  const int64_t count = end - begin, threads = static_cast<int64_t>(thread_count());
  if (grain < 1) grain = 1;
  int64_t step = (count + threads - 1) / threads;
  step = (step + grain - 1) / grain * grain;
  struct Ranges {
    int64_t begin, end, step;
    void (*call)(const void* function, int64_t first, int64_t last);
    const void* function;
  } ranges{begin, end, step, call, function};
  threads_->run(
      static_cast<size_t>((count + step - 1) / step),
      [](void* context, size_t index) {
        const Ranges& r = *static_cast<const Ranges*>(context);
        const int64_t first = r.begin + static_cast<int64_t>(index) * r.step;
        r.call(r.function, first, first + r.step < r.end ? first + r.step : r.end);
      },
      &ranges);
}

}  // namespace rushlight
