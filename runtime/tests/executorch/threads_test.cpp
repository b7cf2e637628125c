#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "executorch/extension/threadpool/threadpool.h"
#include "executorch/runtime/kernel/thread_parallel_interface.h"

namespace executorch {
namespace {

TEST(ExecuTorchThreads, CoverARange) {
  std::vector<int> seen(1000);
  EXPECT_TRUE(extension::parallel_for(0, 1000, 10, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i)];
  }));
  EXPECT_EQ(seen, std::vector<int>(1000, 1));
  EXPECT_FALSE(extension::parallel_for(3, 2, 1, [](int64_t, int64_t) {}));
  const extension::threadpool::NoThreadPoolGuard guard;
  std::set<int64_t> threads;
  EXPECT_TRUE(
      extension::parallel_for(0, 10, 1, [&](int64_t, int64_t) { threads.insert(extension::get_thread_num()); }));
  EXPECT_FALSE(threads.empty());
}

}  // namespace
}  // namespace executorch
