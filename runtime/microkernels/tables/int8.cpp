#include "microkernels/tables/int8.h"

#include <cstring>

#include "core/cpu_features.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/impl/int8_joined.h"
#include "microkernels/tables/isas.h"

namespace rushlight::microkernels {

namespace generic_int8 {
extern const Int8Microkernels table;
}
#if RL_HAS_AVX2
namespace avx2_int8 {
extern const Int8Microkernels table;
}
namespace avxvnni_int8 {
extern const Int8Microkernels table;
}
#endif
#if RL_HAS_AVX512
namespace avx512_int8 {
extern const Int8Microkernels table;
}
namespace avx512vnni_int8 {
extern const Int8Microkernels table, amx_table;
}
#endif
#if RL_HAS_NEON
namespace neon_int8 {
extern const Int8Microkernels table;
}
namespace neon_dotprod_int8 {
extern const Int8Microkernels table;
}
namespace neon_i8mm_int8 {
extern const Int8Microkernels table;
}
#endif
#if RL_HAS_RVV
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

#if RL_HAS_AVX512
Int8Microkernels joined_with_vbmi(const Int8Microkernels& products) {
  Int8Microkernels t = joined(products, avx512_int8::table);
  if (cpu_features().avx512vbmi) t.loops.look_up = products.loops.look_up;
  return t;
}

const Int8Microkernels* joined_avx512vnni() {
  static const Int8Microkernels table = joined_with_vbmi(avx512vnni_int8::table);
  return cpu_features().avx512vnni ? &table : nullptr;
}

const Int8Microkernels* joined_avx512amx() {
  static const Int8Microkernels table = [] {
    Int8Microkernels t = joined_with_vbmi(avx512vnni_int8::amx_table);
    t.smaller = joined_avx512vnni();
    return t;
  }();
  return cpu_features().avx512amx ? &table : nullptr;
}
#endif
#if RL_HAS_AVX2
const Int8Microkernels* joined_avxvnni() {
  static const Int8Microkernels table = joined(avxvnni_int8::table, avx2_int8::table);
  return cpu_features().avxvnni ? &table : nullptr;
}
#endif

struct Entry {
  const char* name;
  const Int8Microkernels* (*find)();
};

// The tables in the order of preference.
constexpr Entry kEntries[] = {
#if RL_HAS_AVX512
    {"avx512amx", &joined_avx512amx},
    {"avx512vnni", &joined_avx512vnni},
#endif
#if RL_HAS_AVX2
    {"avxvnni", &joined_avxvnni},
#endif
#if RL_HAS_AVX512
    {"avx512", +[]() -> const Int8Microkernels* { return cpu_features().avx512 ? &avx512_int8::table : nullptr; }},
#endif
#if RL_HAS_AVX2
    {"avx2", +[]() -> const Int8Microkernels* { return cpu_features().avx2 ? &avx2_int8::table : nullptr; }},
#endif
#if RL_HAS_NEON
    {"neon_i8mm",
     +[]() -> const Int8Microkernels* { return cpu_features().neon_i8mm ? &neon_i8mm_int8::table : nullptr; }},
    {"neon_dotprod",
     +[]() -> const Int8Microkernels* { return cpu_features().neon_dotprod ? &neon_dotprod_int8::table : nullptr; }},
    {"neon", +[]() -> const Int8Microkernels* { return &neon_int8::table; }},
#endif
#if RL_HAS_RVV
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
