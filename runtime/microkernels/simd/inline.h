#pragma once

#define RL_INLINE static inline __attribute__((always_inline))
#define RL_MEMBER inline __attribute__((always_inline))
#define RL_UNROLL _Pragma("GCC unroll 64")
