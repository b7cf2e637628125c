// Damaged files give an error or a clean run, whatever the damage is. The address sanitizer makes this test stricter.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "rushlight/module/defaults.h"
#include "tests/support/loaded.h"
#include "tests/support/run_hostile.h"
#include "tests/support/small_net.h"

namespace rushlight::testing {
namespace {

// A copy whose memory ends with its last byte, so that reads beyond the end are detected.
std::unique_ptr<uint8_t[]> copy_of(const std::vector<uint8_t>& bytes, size_t size) {
  std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  std::memcpy(copy.get(), bytes.data(), size);
  return copy;
}

Error run(const std::vector<uint8_t>& bytes, size_t size) {
  const auto copy = copy_of(bytes, size);
  return run_hostile(copy.get(), size);
}

std::vector<std::vector<uint8_t>> programs() {
  ProgramSpec add = add_program();
  add.plans[0].operators = {{"aten::add", "out"}};
  return {build(add), build(small_net())};
}

TEST(Hostile, UndamagedProgramsRun) {
  for (const auto& bytes : programs()) EXPECT_EQ(run(bytes, bytes.size()), Error::Ok) << last_error_message();
}

TEST(Hostile, TruncatedAtEveryLength) {
  for (const auto& bytes : programs()) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_NE(run(bytes, size), Error::Ok) << size << " of " << bytes.size() << " bytes";
      EXPECT_STRNE(last_error_message(), "");
    }
  }
}

TEST(Hostile, EveryByteDamaged) {
  for (std::vector<uint8_t> bytes : programs()) {
    size_t refused = 0;
    for (size_t at = 0; at < bytes.size(); ++at) {
      const uint8_t good = bytes[at];
      for (const int bad :
           {good ^ 0x01, good ^ 0x02, good ^ 0x80, good + 1, good - 1, good + 4, good ^ 0xff, 0, 0x7f}) {
        bytes[at] = static_cast<uint8_t>(bad);
        if (run(bytes, bytes.size()) == Error::Ok) continue;
        ++refused;
        EXPECT_STRNE(last_error_message(), "") << "byte " << at;
      }
      bytes[at] = good;
    }
    EXPECT_GT(refused, bytes.size() / 2);
  }
}

TEST(Hostile, EveryWordReplaced) {
  for (std::vector<uint8_t> bytes : programs()) {
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      uint32_t good;
      std::memcpy(&good, bytes.data() + at, 4);
      for (const uint32_t bad : {0u, 0xffffffffu, 0x7fffffffu, 0x80000000u, 0x10000u, good + 4, good - 4, good * 2}) {
        std::memcpy(bytes.data() + at, &bad, 4);
        if (run(bytes, bytes.size()) == Error::Ok) continue;
        EXPECT_STRNE(last_error_message(), "") << "word at " << at;
      }
      std::memcpy(bytes.data() + at, &good, 4);
    }
  }
}

TEST(Hostile, RandomDamageInSeveralPlaces) {
  uint64_t random = 88172645463325252u;
  const auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  };
  for (const auto& good : programs()) {
    for (int round = 0; round < 5000; ++round) {
      std::vector<uint8_t> bytes = good;
      for (uint64_t i = 0, count = 1 + next() % 6; i < count; ++i) {
        // Most indices and counts are small numbers.
        bytes[next() % bytes.size()] = static_cast<uint8_t>(next() % 2 ? next() % 40 : next());
      }
      if (run(bytes, bytes.size()) == Error::Ok) continue;
      EXPECT_STRNE(last_error_message(), "");
    }
  }
}

}  // namespace
}  // namespace rushlight::testing
