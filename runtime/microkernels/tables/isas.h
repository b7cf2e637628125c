// RL_HAS_<ISA>: the families of instruction sets that this build has tables for, besides the generic one. They are
// those of the processor family, of which a selective build (RUSHLIGHT_SELECTED_ISAS) has only the ones that it
// defines.
#pragma once

#if !defined(RUSHLIGHT_SELECTED_ISAS)
#define RL_HAS_AVX2 1
#define RL_HAS_AVX512 1
#define RL_HAS_NEON 1
#define RL_HAS_RVV 1
#endif

#if !defined(__x86_64__) && !defined(__i386__)
#undef RL_HAS_AVX2
#undef RL_HAS_AVX512
#endif
#if !defined(__aarch64__)
#undef RL_HAS_NEON
#endif
#if !defined(RUSHLIGHT_RVV)
#undef RL_HAS_RVV
#endif
