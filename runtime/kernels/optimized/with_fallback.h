#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight::optimized {

// A kernel that calls `fast`. If `fast` returns false because it does not support the arguments, it calls `slow`.
template <auto fast, auto slow>
struct WithFallback;

template <typename... Parameters, bool (*fast)(KernelRuntimeContext&, Parameters...),
          void (*slow)(KernelRuntimeContext&, Parameters...)>
struct WithFallback<fast, slow> {
  static void call(KernelRuntimeContext& context, Parameters... parameters) {
    if (!fast(context, parameters...)) slow(context, parameters...);
  }
};

template <auto fast, auto slow>
inline constexpr BoxedKernel with_fallback = boxed<&WithFallback<fast, slow>::call>;

}  // namespace rushlight::optimized
