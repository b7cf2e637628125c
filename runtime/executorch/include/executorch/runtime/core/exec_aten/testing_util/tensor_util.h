#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "executorch/extension/tensor/tensor.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"

namespace executorch {
namespace runtime {
namespace testing {

// Returns whether tensors have the same dtype and shape, and elements that differ by at most atol + rtol * |b|. NaN is
// close to NaN.
inline bool tensors_are_close(const aten::Tensor& a, const aten::Tensor& b, double rtol, double atol) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides()) return false;
  if (a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0) return true;
  const auto first = extension::clone_tensor_ptr(a, aten::ScalarType::Double);
  const auto second = extension::clone_tensor_ptr(b, aten::ScalarType::Double);
  if (!first || !second) return false;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = first->const_data_ptr<double>()[i];
    const double y = second->const_data_ptr<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::fabs(x - y) <= atol + rtol * std::fabs(y))) return false;
  }
  return true;
}
inline bool tensors_are_equal(const aten::Tensor& a, const aten::Tensor& b) { return tensors_are_close(a, b, 0, 0); }

constexpr double kDefaultRtol = 1e-5;
constexpr double kDefaultAtol = 1e-8;

}  // namespace testing
}  // namespace runtime
}  // namespace executorch

#define EXPECT_TENSOR_EQ(a, b) EXPECT_TRUE(::executorch::runtime::testing::tensors_are_equal((a), (b)))
#define EXPECT_TENSOR_NE(a, b) EXPECT_FALSE(::executorch::runtime::testing::tensors_are_equal((a), (b)))
#define ASSERT_TENSOR_EQ(a, b) ASSERT_TRUE(::executorch::runtime::testing::tensors_are_equal((a), (b)))
#define EXPECT_TENSOR_CLOSE_WITH_TOL(a, b, rtol, atol) \
  EXPECT_TRUE(::executorch::runtime::testing::tensors_are_close((a), (b), (rtol), (atol)))
#define EXPECT_TENSOR_CLOSE(a, b)                                                  \
  EXPECT_TENSOR_CLOSE_WITH_TOL(a, b, ::executorch::runtime::testing::kDefaultRtol, \
                               ::executorch::runtime::testing::kDefaultAtol)
#define ASSERT_TENSOR_CLOSE(a, b)                                \
  ASSERT_TRUE(::executorch::runtime::testing::tensors_are_close( \
      (a), (b), ::executorch::runtime::testing::kDefaultRtol, ::executorch::runtime::testing::kDefaultAtol))
