#pragma once

#include "executorch/runtime/core/event_tracer.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/memory_allocator.h"
#include "executorch/runtime/core/result.h"
#include "rushlight/core/kernel_context.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// The resources of a kernel besides its arguments: the runtime's context with the interface of ExecuTorch's class.
class KernelRuntimeContext {
 public:
  // Makes a context for a kernel that the application calls directly.
  KernelRuntimeContext(EventTracer* event_tracer = nullptr, MemoryAllocator* temp_allocator = nullptr)
      : event_tracer_(event_tracer),
        own_(temp_allocator, nullptr, event_tracer ? event_tracer->native() : nullptr),
        native_(&own_) {}
  // Wraps the context of a kernel that the runtime calls.
  explicit KernelRuntimeContext(::rushlight::KernelRuntimeContext& native) : own_(nullptr, nullptr), native_(&native) {}
  KernelRuntimeContext(const KernelRuntimeContext&) = delete;
  KernelRuntimeContext& operator=(const KernelRuntimeContext&) = delete;

  // Records an error. The method stops after the kernel returns.
  void fail(Error error) { native_->fail(error); }
  ET_NODISCARD Error failure_state() const { return native_->failure(); }
  // Returns the tracer that the constructor received.
  EventTracer* internal_event_tracer() { return event_tracer_; }
  // Returns scratch memory until the kernel returns. Errors: NotFound without an allocator, MemoryAllocationFailed.
  Result<void*> allocate_temp(size_t size, size_t alignment = MemoryAllocator::kDefaultAlignment);

  ::rushlight::KernelRuntimeContext& native() { return *native_; }

 private:
  EventTracer* event_tracer_ = nullptr;
  ::rushlight::KernelRuntimeContext own_;
  ::rushlight::KernelRuntimeContext* native_;
};

}  // namespace ET_RUNTIME_NAMESPACE

namespace aten {
using RuntimeContext = ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;
}  // namespace aten
}  // namespace executorch

namespace torch {
namespace executor {
using RuntimeContext = ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;
}  // namespace executor
}  // namespace torch

namespace torch {
namespace executor {
using ::executorch::runtime::KernelRuntimeContext;
}  // namespace executor
}  // namespace torch
