#include "microkernels/tables/int8.h"

#include <cstring>

#include "microkernels/tables/f32.h"

#if defined(__x86_64__) || defined(__i386__)
#define RL_X86 1
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace rushlight::microkernels {

namespace generic_int8 {
extern const Int8Microkernels table;
}
#if RL_X86
namespace avx2_int8 {
extern const Int8Microkernels table;
}
namespace avxvnni_int8 {
extern const Int8Microkernels table;
}
namespace avx512_int8 {
extern const Int8Microkernels table;
}
namespace avx512vnni_int8 {
extern const Int8Microkernels table;
}
#elif defined(__aarch64__)
namespace neon_int8 {
extern const Int8Microkernels table;
}
namespace neon_dotprod_int8 {
extern const Int8Microkernels table;
}
namespace neon_i8mm_int8 {
extern const Int8Microkernels table;
}
#elif RUSHLIGHT_RVV
namespace rvv_int8 {
extern const Int8Microkernels table;
}
namespace rvv256_int8 {
extern const Int8Microkernels table;
}
#endif
#if RUSHLIGHT_STAND_INS
namespace fours_int8 {
extern const Int8Microkernels table;
}
#endif

namespace {

#if RL_X86
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}
// Leaf 7, subleaf 1: EAX bit 4. Compilers before GCC 11 do not know its name. Asked once: a virtual machine takes
// microseconds to answer.
bool has_avxvnni() {
  static const bool own = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
  }();
  return own;
}
#elif defined(__aarch64__)
bool has_dotprod() {
#if defined(__linux__)
  constexpr unsigned long kDotProduct = 1ul << 20;  // HWCAP_ASIMDDP
  return getauxval(AT_HWCAP) & kDotProduct;
#elif defined(__ARM_FEATURE_DOTPROD)
  return true;
#else
  return false;
#endif
}
bool has_i8mm() {
#if defined(__linux__)
  constexpr unsigned long kMatrices = 1ul << 13;  // HWCAP2_I8MM
  return has_dotprod() && getauxval(AT_HWCAP2) & kMatrices;
#elif defined(__ARM_FEATURE_MATMUL_INT8)
  return has_dotprod();
#else
  return false;
#endif
}
#endif

struct Entry {
  const char* name;
  const Int8Microkernels* (*find)();
};

// The best first.
constexpr Entry kEntries[] = {
#if RL_X86
    {"avx512vnni",
     +[]() -> const Int8Microkernels* {
       return has_avx512() && __builtin_cpu_supports("avx512vnni") ? &avx512vnni_int8::table : nullptr;
     }},
    {"avxvnni", +[]() -> const Int8Microkernels* { return has_avxvnni() ? &avxvnni_int8::table : nullptr; }},
    {"avx512", +[]() -> const Int8Microkernels* { return has_avx512() ? &avx512_int8::table : nullptr; }},
    {"avx2", +[]() -> const Int8Microkernels* { return has_avx2() ? &avx2_int8::table : nullptr; }},
#elif defined(__aarch64__)
    {"neon_i8mm", +[]() -> const Int8Microkernels* { return has_i8mm() ? &neon_i8mm_int8::table : nullptr; }},
    {"neon_dotprod", +[]() -> const Int8Microkernels* { return has_dotprod() ? &neon_dotprod_int8::table : nullptr; }},
    {"neon", +[]() -> const Int8Microkernels* { return &neon_int8::table; }},
#elif RUSHLIGHT_RVV
    {"rvv256",
     +[]() -> const Int8Microkernels* { return f32_microkernels_named("rvv256") ? &rvv256_int8::table : nullptr; }},
    {"rvv", +[]() -> const Int8Microkernels* { return f32_microkernels_named("rvv") ? &rvv_int8::table : nullptr; }},
#endif
    {"generic", +[]() -> const Int8Microkernels* { return &generic_int8::table; }},
#if RUSHLIGHT_STAND_INS
    {"fours", +[]() -> const Int8Microkernels* { return &fours_int8::table; }},
#endif
};

const Int8Microkernels* choose() {
  if (const char* wanted = wanted_isa()) {
    if (const Int8Microkernels* set = int8_microkernels_named(wanted)) return set;
  }
  for (const Entry& entry : kEntries) {
    if (const Int8Microkernels* set = entry.find()) return set;
  }
  return &generic_int8::table;
}

}  // namespace

const Int8Microkernels* int8_microkernels_named(const char* name) {
  for (const Entry& entry : kEntries) {
    if (std::strcmp(name, entry.name) == 0) return entry.find();
  }
  return nullptr;
}

const Int8Microkernels& int8_microkernels() {
  static const Int8Microkernels* const chosen = choose();
  return *chosen;
}

}  // namespace rushlight::microkernels
