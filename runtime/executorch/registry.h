#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "executorch/runtime/kernel/operator_registry.h"
#include "program/plan_view.h"
#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"

namespace executorch {
namespace runtime {
namespace internal {

// The kernels of one method as kernel tables of the runtime: first the kernels of the application, then the kernels of
// the runtime. The object must outlive the method.
class MethodKernels {
 public:
  // Finds the kernels of a method, first in `own`, then in the registry.
  Error find(const ::rushlight::PlanView& plan, Span<const Kernel> own);
  Span<const ::rushlight::KernelTable> tables() const { return {tables_.data(), tables_.size()}; }

 private:
  Error add(const Kernel& kernel, const ::rushlight::PlanView& plan, size_t index);
  std::vector<std::vector<::rushlight::Kernel>> rows_;  // all names in one list are different
  std::vector<::rushlight::KernelTable> tables_;
};

// Returns the registered backends as a backend table of the runtime, which lives as long as the process.
::rushlight::BackendTable backend_table();

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
