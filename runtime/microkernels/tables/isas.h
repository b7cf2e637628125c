// RL_HAS_<ISA> tells whether this build has tables for a family of instruction sets. Every build has the generic
// tables. A normal build has all families of the target processor. A selective build has only the families in
// RUSHLIGHT_SELECTED_ISAS.
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
