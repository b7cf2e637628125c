#pragma once

#define RL_INLINE static inline __attribute__((always_inline))
#define RL_MEMBER inline __attribute__((always_inline))
// One copy in the program, however many calls there are.
#define RL_ONCE inline __attribute__((noinline))
#define RL_UNROLL _Pragma("GCC unroll 64")
