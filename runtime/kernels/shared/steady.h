#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Calls `kernel`. Each argument in `arguments`, such as args(1, 2), that shares memory with a result of the kernel is
// replaced by a copy in scratch memory.
void call_steady(KernelRuntimeContext& context, const BoxedKernel& kernel, uint32_t arguments, EValue* const* given);

namespace detail {

template <const BoxedKernel& kernel, uint32_t arguments>
void steady_call(KernelRuntimeContext& context, EValue* const* given) {
  call_steady(context, kernel, arguments, given);
}

}  // namespace detail

// Wraps a kernel that first checks or counts the elements of indices or masks, and later reads them again to find where
// it writes. The wrapper keeps these arguments unchanged in between, even if a program places results in the same
// memory.
template <const BoxedKernel& kernel, uint32_t arguments>
inline constexpr BoxedKernel steady{&detail::steady_call<kernel, arguments>, kernel.kinds, kernel.arity};

}  // namespace rushlight
