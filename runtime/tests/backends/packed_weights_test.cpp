#if defined(RUSHLIGHT_HAS_BACKEND_XNNPACK)

#include "backends/xnnpack/packed_weights.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rushlight::xnnpack {
namespace {

struct Weights {
  float data[3] = {1, 2, 3};
  PackingKey key;

  explicit Weights(std::string_view name) {
    key.name = name;
    key.data = data;
    key.size = sizeof(data);
  }

  Result<PackedWeights> pack(int* calls) const {
    return PackedWeights::get(key, 4, [&](float* to) {
      ++*calls;
      for (int i = 0; i < 3; ++i) to[i] = data[i];
    });
  }
};

TEST(PackedWeights, AreSharedByName) {
  const size_t before = count_packed_weights();
  int calls = 0;
  const Weights weights("w");
  {
    const auto first = weights.pack(&calls);
    ASSERT_TRUE(first.ok());
    const auto second = weights.pack(&calls);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(first->floats(), second->floats());
    EXPECT_EQ(second->floats()[2], 3);
    EXPECT_EQ(second->floats()[3], 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(second->floats()) % 64, 0u);
    EXPECT_EQ(count_packed_weights(), before + 1);
  }
  EXPECT_EQ(count_packed_weights(), before);
}

TEST(PackedWeights, AreNotSharedIfAnythingDiffers) {
  int calls = 0;
  const Weights weights("w"), nameless("");
  Weights other_layout("w"), other_bias("w"), other_data("w");
  other_layout.key.layout[7] = 1;
  other_bias.key.bias_hash = 1;
  other_data.data[0] = 9;
  other_data.key.data = other_data.data;
  const auto a = weights.pack(&calls);
  const auto b = other_layout.pack(&calls);
  const auto c = other_bias.pack(&calls);
  const auto d = other_data.pack(&calls);
  const auto e = nameless.pack(&calls);
  const auto f = nameless.pack(&calls);
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(d->floats()[0], 9);
}

// An empty name, and a name that is too long to store.
TEST(PackedWeights, WithoutANameAreNotShared) {
  int calls = 0;
  const std::string longest(5000, 'w');
  for (const std::string_view name : {std::string_view(), std::string_view(longest)}) {
    const Weights weights(name);
    const auto first = weights.pack(&calls);
    const auto second = weights.pack(&calls);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_NE(first->floats(), second->floats());
    EXPECT_EQ(second->floats()[2], 3);
  }
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace rushlight::xnnpack

#endif
