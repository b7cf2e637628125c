#include "core/cpu_features.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace rushlight {
namespace {

TEST(CpuFeatures, AnInstructionSetIncludesThoseItIsBuiltOn) {
  const CpuFeatures& f = cpu_features();
  EXPECT_TRUE(f.avx2 || !f.avx512);
  EXPECT_TRUE(f.avx2 || !f.avxvnni);
  EXPECT_TRUE(f.avx512 || !f.avx512vnni);
  EXPECT_TRUE(f.avx512vnni || !f.avx512amx);
  EXPECT_TRUE(f.avx512 || !f.avx512bf16);
  EXPECT_TRUE(f.neon_dotprod || !f.neon_i8mm);
}

#if defined(__x86_64__) && defined(__linux__)
// Returns the flags of the first processor as Linux lists them.
std::set<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;) flags.insert(word);
    return flags;
  }
  return {};
}

TEST(CpuFeatures, FeaturesAreThoseThatLinuxLists) {
  const std::set<std::string> flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "Linux lists no flags here";
  const auto has = [&](const char* name) { return flags.count(name) > 0; };
  const bool avx2 = has("avx2") && has("fma") && has("f16c");
  const bool avx512 = avx2 && has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  EXPECT_EQ(cpu_features().avx2, avx2);
  EXPECT_EQ(cpu_features().avx512, avx512);
  EXPECT_EQ(cpu_features().avx512vnni, avx512 && has("avx512_vnni"));
  EXPECT_EQ(cpu_features().avx512amx, cpu_features().avx512vnni && has("amx_tile") && has("amx_int8"));
  EXPECT_EQ(cpu_features().avx512bf16, avx512 && has("avx512_bf16"));
  EXPECT_EQ(cpu_features().avxvnni, avx2 && has("avx_vnni"));
}
#endif

#if defined(__x86_64__)
TEST(CpuFeatures, UpperHalvesOfRegistersAreCleared) {
  if (!cpu_features().avx2) GTEST_SKIP() << "the registers have no upper halves";
  uint64_t numbers[4];
  asm volatile("vpcmpeqd %%ymm5, %%ymm5, %%ymm5" ::: "xmm5");
  clear_upper_registers();
  asm volatile("vmovdqu %%ymm5, %0" : "=m"(numbers));
  EXPECT_EQ(numbers[2], 0u);
  EXPECT_EQ(numbers[3], 0u);
}
#endif

}  // namespace
}  // namespace rushlight
