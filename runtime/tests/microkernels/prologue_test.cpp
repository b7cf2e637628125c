#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "microkernels/tables/f32_packed.h"
#include "tests/microkernels/f32_fixture.h"

namespace rushlight::microkernels {

namespace {

class PrologueTest : public F32Fixture {};

INSTANTIATE_TEST_SUITE_P(Sets, PrologueTest, testing::ValuesIn(all_sets()), name_of);

TEST_P(PrologueTest, RowsOfEveryLengthWithAndWithoutFactors) {
  constexpr int64_t kRows = 3;
  for (int64_t channels = 1; channels < 4 * kernels.width; ++channels) {
    const auto x = numbers(kRows * 2 * channels), scale = numbers(channels), shift = numbers(channels);
    const float* rows[kRows];
    for (int64_t i = 0; i < kRows; ++i) rows[i] = x.data() + (kRows - 1 - i) * 2 * channels;
    for (const bool scales : {false, true}) {
      for (const bool shifts : {false, true}) {
        for (const bool clamps : {false, true}) {
          Prologue p;
          if (scales) p.scale = scale.data();
          if (shifts) p.shift = shift.data();
          if (clamps) p.low = -0.25f, p.high = 0.5f;
          std::vector<float> to(static_cast<size_t>(kRows * channels + 1), 7.0f);
          kernels.packed->prologue(p, rows, kRows, channels, to.data());
          for (int64_t i = 0; i < kRows * channels; ++i) {
            const size_t c = static_cast<size_t>(i % channels);
            double value = rows[i / channels][c];
            if (scales) value *= scale[c];
            if (shifts) value += shift[c];
            if (clamps) value = std::min(std::max(value, -0.25), 0.5);
            ASSERT_NEAR(to[static_cast<size_t>(i)], value, 1e-6) << channels << " " << i;
          }
          ASSERT_EQ(to.back(), 7.0f) << channels;
        }
      }
    }
  }
}

}  // namespace

}  // namespace rushlight::microkernels
