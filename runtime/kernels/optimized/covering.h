#pragma once

#include "rushlight/core/kernel.h"

namespace rushlight::optimized {

// A kernel that calls `fast`, which says whether it covers the arguments, and if it does not `slow`.
template <auto fast, auto slow>
struct Covering;

template <typename... Parameters, bool (*fast)(KernelRuntimeContext&, Parameters...),
          void (*slow)(KernelRuntimeContext&, Parameters...)>
struct Covering<fast, slow> {
  static void call(KernelRuntimeContext& context, Parameters... parameters) {
    if (!fast(context, parameters...)) slow(context, parameters...);
  }
};

template <auto fast, auto slow>
inline constexpr BoxedKernel covering = boxed<&Covering<fast, slow>::call>;

}  // namespace rushlight::optimized
