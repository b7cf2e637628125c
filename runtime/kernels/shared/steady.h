#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight {

// Calls `kernel`, giving copies in scratch memory of those of `arguments` (args(1, 2)) that share memory with what the
// kernel writes.
void call_steady(KernelRuntimeContext& context, const BoxedKernel& kernel, uint32_t arguments, EValue* const* given);

namespace detail {

template <const BoxedKernel& kernel, uint32_t arguments>
void steady_call(KernelRuntimeContext& context, EValue* const* given) {
  call_steady(context, kernel, arguments, given);
}

}  // namespace detail

// A kernel that checks or counts the elements of some arguments, indices or masks, before it reads them again and
// writes where they say: they stay what was checked, also where a program puts the results into their memory.
template <const BoxedKernel& kernel, uint32_t arguments>
inline constexpr BoxedKernel steady{&detail::steady_call<kernel, arguments>, kernel.kinds, kernel.arity};

}  // namespace rushlight
