#include "kernels/optimized/wide_functions.h"

#include "core/cpu_features.h"

// On x86, wide_functions_avx2.cpp has the functions.
#if defined(__x86_64__) || defined(__i386__)
#define RL_WIDE_X86 1
#else
#include "kernels/optimized/wide_functions_impl.h"
#endif

namespace rushlight::optimized {

bool has_wide_functions() {
#if RL_WIDE_X86
  return cpu_features().avx2;
#else
  return true;
#endif
}

}  // namespace rushlight::optimized
