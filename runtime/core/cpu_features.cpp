#include "core/cpu_features.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace rushlight {

namespace {

#if defined(__x86_64__) || defined(__i386__)
// The built-in functions of compilers do not support all features: Clang does not support F16C, and GCC before 11 does
// not support AVX-VNNI. These two features are read with CPUID. The compiler's checks also include the support of the
// operating system.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1);
}
bool has_avxvnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}

// Returns whether this process may use AMX's tile registers and its products of int8 and bfloat16. Linux allows a
// process to use these registers only after a request (https://docs.kernel.org/arch/x86/xstate.html).
bool has_amx() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr unsigned kFeatures = 1u << 22 | 1u << 24 | 1u << 25;   // CPUID(7, 0).edx: bfloat16, tiles, int8
  constexpr int kRequestPermission = 0x1023, kTileRegisters = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kFeatures) == kFeatures &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileRegisters) == 0;
#else
  return false;
#endif
}

// Returns whether the floating-point units have 256 bits and not 512, from AMD's performance identifiers (AMD64 manual,
// volume 3, appendix E).
bool has_halves() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x8000001a, &a, &b, &c, &d) && (a >> 2 & 1) && !(a >> 3 & 1);
}

CpuFeatures detect() {
  __builtin_cpu_init();
  CpuFeatures f;
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  f.avxvnni = f.avx2 && has_avxvnni();
  f.avx512vnni = f.avx512 && __builtin_cpu_supports("avx512vnni");
  f.avx512amx = f.avx512vnni && has_amx();
  f.avx512vbmi = f.avx512 && __builtin_cpu_supports("avx512vbmi");
  f.avx512bf16 = f.avx512 && __builtin_cpu_supports("avx512bf16");
  // On an Emerald Rapids processor, vdpbf16ps takes twice as long as the two float32 products that it replaces.
  f.avx512bf16_is_fast = f.avx512bf16 && !__builtin_cpu_is("intel");
  f.avx512halves = f.avx512 && has_halves();
  return f;
}
#elif defined(__aarch64__)
CpuFeatures detect() {
  CpuFeatures f;
#if defined(__linux__)
  constexpr unsigned long kDotProduct = 1ul << 20;  // HWCAP_ASIMDDP
  constexpr unsigned long kMatrices = 1ul << 13;    // HWCAP2_I8MM
  f.neon_dotprod = getauxval(AT_HWCAP) & kDotProduct;
  f.neon_i8mm = f.neon_dotprod && (getauxval(AT_HWCAP2) & kMatrices);
#else
#if defined(__ARM_FEATURE_DOTPROD)
  f.neon_dotprod = true;
#endif
#if defined(__ARM_FEATURE_DOTPROD) && defined(__ARM_FEATURE_MATMUL_INT8)
  f.neon_i8mm = true;
#endif
#endif
  return f;
}
#else
CpuFeatures detect() { return {}; }
#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

#if defined(__x86_64__) || defined(__i386__)
void clear_upper_registers() {
  if (cpu_features().avx2) asm volatile("vzeroupper");
}
#endif

}  // namespace rushlight
