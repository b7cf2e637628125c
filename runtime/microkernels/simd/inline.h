#pragma once

#define RL_INLINE static inline __attribute__((always_inline))
#define RL_MEMBER inline __attribute__((always_inline))
// A function with a single copy in the program, which is never inlined.
#define RL_ONCE inline __attribute__((noinline))
// As RL_ONCE, for functions of one instruction set. It also stops GCC from cloning them for constant arguments.
#if defined(__clang__)
#define RL_ONCE_STATIC [[maybe_unused]] static __attribute__((noinline))
#else
#define RL_ONCE_STATIC [[maybe_unused]] static __attribute__((noinline, noclone))
#endif
#define RL_UNROLL _Pragma("GCC unroll 64")

namespace rushlight::microkernels {

// Keeps the order of the source: additions to `sums`, and loads before and after them. LLVM for WebAssembly computes
// each sum of an unrolled loop as a whole, one sum after the other, so that the operands do not fit into the registers.
template <typename Vector, int Count>
RL_INLINE void keep_order([[maybe_unused]] Vector (&sums)[Count]) {
#if defined(__wasm_simd128__)
  RL_UNROLL for (int i = 0; i < Count; ++i) asm volatile("" : "+r"(sums[i]) : : "memory");
#endif
}

}  // namespace rushlight::microkernels
