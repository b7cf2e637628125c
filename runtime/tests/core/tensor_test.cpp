#include "rushlight/core/tensor.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "rushlight/core/memory.h"

namespace rushlight {
namespace {

// A float tensor with upper bounds `bound` and the given dim order.
struct Dynamic {
  Dynamic(std::vector<SizesType> bounds, std::vector<uint8_t> dim_order, ShapeDynamism dynamism)
      : max_sizes(std::move(bounds)), sizes(max_sizes), strides(sizes.size()), order(std::move(dim_order)) {
    impl.sizes = sizes.data();
    impl.strides = strides.data();
    impl.dim_order = order.data();
    impl.dim = static_cast<uint8_t>(sizes.size());
    impl.numel = checked_numel({sizes.data(), sizes.size()});
    impl.capacity = static_cast<size_t>(impl.numel) * 4;
    impl.dynamism = dynamism;
    if (dynamism == ShapeDynamism::DYNAMIC_BOUND) impl.max_sizes = max_sizes.data();
    strides_from_dim_order({sizes.data(), sizes.size()}, order.data(), strides.data());
  }
  Error resize(std::vector<SizesType> to) { return resize_tensor(Tensor(&impl), {to.data(), to.size()}); }

  std::vector<SizesType> max_sizes, sizes;
  std::vector<StridesType> strides;
  std::vector<uint8_t> order;
  TensorImpl impl;
};

TEST(Tensor, ResizesWithinItsBounds) {
  Dynamic tensor({2, 3, 4}, {0, 2, 1}, ShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(tensor.strides, (std::vector<StridesType>{12, 1, 3}));
  EXPECT_EQ(tensor.resize({1, 2, 4}), Error::Ok);
  EXPECT_EQ(tensor.impl.numel, 8);
  EXPECT_EQ(tensor.strides, (std::vector<StridesType>{8, 1, 2}));
  EXPECT_EQ(tensor.resize({0, 3, 4}), Error::Ok);
  EXPECT_EQ(tensor.impl.numel, 0);
  EXPECT_EQ(tensor.resize({1, 4, 1}), Error::InvalidArgument);
  EXPECT_STREQ(last_error_message(), "dim 1 of a tensor has at most 3 elements, but 4 are needed");
  EXPECT_EQ(tensor.resize({1, -1, 1}), Error::InvalidArgument);
  EXPECT_EQ(tensor.resize({1, 1}), Error::InvalidArgument);
  EXPECT_EQ(tensor.sizes, (std::vector<SizesType>{0, 3, 4})) << "a refused shape changes nothing";
}

TEST(Tensor, StaticShapesStay) {
  Dynamic tensor({2, 3}, {0, 1}, ShapeDynamism::STATIC);
  EXPECT_EQ(tensor.resize({2, 3}), Error::Ok);
  EXPECT_EQ(tensor.resize({3, 2}), Error::InvalidArgument);
  EXPECT_STREQ(last_error_message(), "dim 0 of a tensor of static shape has 2 elements, not 3");
}

TEST(Tensor, UnboundedShapesStayWithinTheirBytes) {
  Dynamic tensor({2, 3}, {0, 1}, ShapeDynamism::DYNAMIC_UNBOUND);
  EXPECT_EQ(tensor.resize({6, 1}), Error::Ok);
  EXPECT_EQ(tensor.resize({7, 1}), Error::OutOfResources);
  EXPECT_EQ(tensor.resize({INT32_MAX, INT32_MAX}), Error::OutOfResources);
}

TEST(Tensor, UnboundedShapesGrowWithTheirElements) {
  alignas(16) uint8_t memory[256];
  BufferAllocator allocator(memory, sizeof(memory));
  Dynamic tensor({0, 2}, {0, 1}, ShapeDynamism::DYNAMIC_UNBOUND);
  tensor.impl.growth = &allocator;
  ASSERT_EQ(tensor.resize({2, 2}), Error::Ok);
  ASSERT_EQ(tensor.impl.capacity, 16u);
  static_cast<float*>(tensor.impl.data)[3] = 7.0f;
  ASSERT_EQ(tensor.resize({3, 2}), Error::Ok);
  EXPECT_EQ(tensor.impl.capacity, 32u) << "at least twice the memory";
  EXPECT_EQ(static_cast<float*>(tensor.impl.data)[3], 7.0f);
  const size_t used = allocator.used();
  ASSERT_EQ(tensor.resize({4, 2}), Error::Ok);
  EXPECT_EQ(allocator.used(), used) << "it fits";
  EXPECT_EQ(tensor.resize({40, 2}), Error::OutOfResources);
  EXPECT_EQ(tensor.sizes, (std::vector<SizesType>{4, 2})) << "a refused shape changes nothing";
}

TEST(Tensor, CountsElementsWithoutOverflow) {
  const auto count = [](std::vector<SizesType> sizes) { return checked_numel({sizes.data(), sizes.size()}); };
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({2, 3}), 6);
  EXPECT_EQ(count({2, 0, 3}), 0);
  EXPECT_EQ(count({2, -3}), -1);
  EXPECT_EQ(count({INT32_MAX, INT32_MAX, 2}), int64_t{INT32_MAX} * INT32_MAX * 2);
  EXPECT_EQ(count({INT32_MAX, INT32_MAX, 3}), -1);
}

TEST(Tensor, KnowsItsDimOrder) {
  const uint8_t contiguous[] = {0, 1, 2, 3}, channels_last[] = {0, 2, 3, 1}, channels_last_3d[] = {0, 2, 3, 4, 1};
  EXPECT_TRUE(is_contiguous_dim_order(contiguous));
  EXPECT_FALSE(is_contiguous_dim_order(channels_last));
  EXPECT_TRUE(is_channels_last_dim_order(channels_last));
  EXPECT_TRUE(is_channels_last_dim_order(channels_last_3d));
  EXPECT_FALSE(is_channels_last_dim_order(contiguous));
}

TEST(ScalarType, HasSizesAndNames) {
  EXPECT_EQ(element_size(ScalarType::Float), 4u);
  EXPECT_EQ(element_size(ScalarType::ComplexDouble), 16u);
  EXPECT_EQ(element_size(static_cast<ScalarType>(30)), 0u);
  EXPECT_EQ(element_size(static_cast<ScalarType>(-1)), 0u);
  EXPECT_STREQ(dtype_name(ScalarType::BFloat16), "bfloat16");
  EXPECT_STREQ(dtype_name(ScalarType::Float8_e4m3fnuz), "float8_e4m3fnuz");
  EXPECT_STREQ(dtype_name(static_cast<ScalarType>(99)), "?");
  EXPECT_TRUE(dtypes::kRealHB.contains(ScalarType::Bool));
  EXPECT_FALSE(dtypes::kReal.contains(ScalarType::Half));
}

}  // namespace
}  // namespace rushlight
