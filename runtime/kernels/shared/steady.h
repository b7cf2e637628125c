#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Calls `kernel`. Those of `arguments` (args(1, 2)) that share memory with a result of the kernel are replaced by
// copies in scratch memory.
void call_steady(KernelRuntimeContext& context, const BoxedKernel& kernel, uint32_t arguments, EValue* const* given);

namespace detail {

template <const BoxedKernel& kernel, uint32_t arguments>
void steady_call(KernelRuntimeContext& context, EValue* const* given) {
  call_steady(context, kernel, arguments, given);
}

}  // namespace detail

// A kernel that checks or counts the elements of indices or masks, and later reads them again to find where it writes.
// They keep their checked values, even if a program places the results in their memory.
template <const BoxedKernel& kernel, uint32_t arguments>
inline constexpr BoxedKernel steady{&detail::steady_call<kernel, arguments>, kernel.kinds, kernel.arity};

}  // namespace rushlight
