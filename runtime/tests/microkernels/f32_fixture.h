#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "microkernels/tables/f32.h"

namespace rushlight::microkernels {

namespace wide {
extern const F32Microkernels table;
}

// Returns every set that this machine runs, and on AVX2 a set with vectors of 16 floats.
inline std::vector<const F32Microkernels*> all_sets() {
  std::vector<const F32Microkernels*> sets;
  for (const char* name : {"generic", "neon", "rvv", "rvv256", "avx2", "avx512"}) {
    if (const F32Microkernels* set = f32_microkernels_named(name)) sets.push_back(set);
  }
#if defined(__x86_64__)
  if (f32_microkernels_named("avx2")) sets.push_back(&wide::table);
#endif
  return sets;
}

inline std::string name_of(const testing::TestParamInfo<const F32Microkernels*>& set) { return set.param->name; }

// Returns numbers in [-1, 1).
inline std::vector<float> uniform_numbers(std::mt19937& random, int64_t n) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = uniform(random);
  return values;
}

// Tests that run for each set.
class F32Fixture : public testing::TestWithParam<const F32Microkernels*> {
 protected:
  const F32Microkernels& kernels = *GetParam();
  std::mt19937 random{1};

  std::vector<float> numbers(int64_t n) { return uniform_numbers(random, n); }
};

}  // namespace rushlight::microkernels
