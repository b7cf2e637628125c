#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "microkernels/gemm/int8.h"
#include "tests/microkernels/dot_products.h"

namespace rushlight::microkernels {

namespace fours_int8 {
extern const Int8Microkernels table;
}

// Returns every set that this machine runs, sets with emulated instructions, and a plain C++ model of VNNI.
inline std::vector<const Int8Microkernels*> all_int8_sets() {
  std::vector<const Int8Microkernels*> sets = assisted_sets();
  sets.push_back(&fours_int8::table);
  for (const char* name : {"generic", "neon", "neon_dotprod", "neon_i8mm", "rvv", "rvv256", "avx2", "avxvnni", "avx512",
                           "avx512vnni", "avx512amx"}) {
    if (const Int8Microkernels* set = int8_microkernels_named(name)) sets.push_back(set);
  }
  return sets;
}

inline std::string int8_set_name(const testing::TestParamInfo<const Int8Microkernels*>& set) { return set.param->name; }

// An array that is aligned for vectors of any width.
struct Buffer {
  explicit Buffer(size_t bytes) : storage(bytes + 64) {}
  void* data() {
    const auto address = reinterpret_cast<uintptr_t>(storage.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  }
  std::vector<uint8_t> storage;
};

// Tests that run for each set.
class Int8Fixture : public testing::TestWithParam<const Int8Microkernels*> {
 protected:
  const Int8Microkernels& kernels = *GetParam();
  std::mt19937 random{1};

  // Returns random numbers; -128 and 127 are frequent.
  std::vector<int8_t> numbers(int64_t n) {
    std::uniform_int_distribution<int> uniform(-160, 160);
    std::vector<int8_t> values(static_cast<size_t>(n));
    for (int8_t& value : values) value = static_cast<int8_t>(std::clamp(uniform(random), -128, 127));
    return values;
  }
  // Whether tests of many products should be shorter for this set.
  bool is_slow() const {
    const auto slow = assisted_sets();
    return std::find(slow.begin(), slow.end(), &kernels) != slow.end();
  }
  std::vector<float> reals(int64_t n, float least, float most) {
    std::uniform_real_distribution<float> uniform(least, most);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = uniform(random);
    return values;
  }
};

inline int64_t exact(const std::vector<int8_t>& lhs, const std::vector<int8_t>& rhs, int64_t k, int64_t i, int64_t j,
                     int32_t zero = 0) {
  int64_t sum = 0;
  for (int64_t l = 0; l < k; ++l) {
    sum += int64_t{lhs[static_cast<size_t>(i * k + l)] - zero} * rhs[static_cast<size_t>(j * k + l)];
  }
  return sum;
}

inline int32_t rounded(double x, const Requantize& how) {
  return static_cast<int32_t>(std::clamp(std::nearbyint(x) + how.zero, double(how.least), double(how.most)));
}

}  // namespace rushlight::microkernels
