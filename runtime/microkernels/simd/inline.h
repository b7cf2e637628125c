#pragma once

#define RL_INLINE static inline __attribute__((always_inline))
#define RL_MEMBER inline __attribute__((always_inline))
// One copy in the program, however many calls there are.
#define RL_ONCE inline __attribute__((noinline))
// The same for functions of one instruction set: GCC would copy them for calls with constants.
#if defined(__clang__)
#define RL_ONCE_STATIC [[maybe_unused]] static __attribute__((noinline))
#else
#define RL_ONCE_STATIC [[maybe_unused]] static __attribute__((noinline, noclone))
#endif
#define RL_UNROLL _Pragma("GCC unroll 64")
