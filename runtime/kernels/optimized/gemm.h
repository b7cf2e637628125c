#pragma once

#include "microkernels/gemm/f32.h"
#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

// Compute one or `count` products with all threads. They record the failure and return false without scratch memory.
bool run_gemm(KernelRuntimeContext& context, const microkernels::F32Gemm& gemm);

// Distances in floats between the matrices of consecutive products.
struct Steps {
  int64_t a = 0, b = 0, c = 0;
};

bool run_batched_gemm(KernelRuntimeContext& context, const microkernels::F32Gemm& gemm, int64_t count,
                      const Steps& steps);

}  // namespace rushlight::optimized
