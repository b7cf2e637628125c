#pragma once

#include <new>

#include "backends/xnnpack/step.h"
#include "microkernels/image.h"

namespace rushlight::xnnpack {

// A step that divides its work among at most `threads` workers.
class ThreadedStep : public Step {
 public:
  ThreadedStep(const Node& node, size_t threads) : Step(node), threads_(static_cast<int64_t>(threads)) {}

 protected:
  int64_t workers(const KernelRuntimeContext& context) const {
    const int64_t given = static_cast<int64_t>(context.thread_count());
    return given < threads_ ? given : threads_;
  }
  // Calls body(worker, begin, end) on disjoint ranges that cover [0, count). All ranges except one have at least
  // `grain` items.
  template <typename Body>
  void share(KernelRuntimeContext& context, int64_t count, const Body& body, int64_t grain = 1) const {
    const int64_t most = workers(context), wanted = count / grain < 1 ? 1 : count / grain;
    const int64_t used = wanted < most ? wanted : most;
    context.parallel_for(0, used, 1, [&](int64_t first, int64_t last) {
      for (int64_t w = first; w < last; ++w) body(w, count * w / used, count * (w + 1) / used);
    });
  }

  const int64_t threads_;
};

template <typename T, typename... Arguments>
Error make_in(MemoryAllocator& allocator, Step** step, Arguments&&... arguments) {
  void* memory = allocator.allocate(sizeof(T), alignof(T));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  *step = new (memory) T(static_cast<Arguments&&>(arguments)...);
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
