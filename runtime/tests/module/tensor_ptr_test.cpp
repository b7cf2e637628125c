#include "rushlight/module/tensor_ptr.h"

#include <string>

#include "rushlight/core/half.h"
#include "rushlight/module/defaults.h"
#include "rushlight/module/module.h"
#include "tests/support/loaded.h"
#include "tests/support/small_net.h"

namespace rushlight::testing {
namespace {

TEST(TensorPtr, TakesElementsOver) {
  const TensorPtr x = make_tensor_ptr<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->scalar_type(), ScalarType::Long);
  EXPECT_EQ(x->size(1), 3);
  EXPECT_EQ(x->stride(0), 3);
  EXPECT_EQ(x->const_data_ptr<int64_t>()[5], 6);
  EXPECT_EQ(make_tensor_ptr<float>({1.5f, 2.5f})->dim(), 1);
  const TensorPtr number = make_tensor_ptr<float>({}, {3.0f});
  EXPECT_EQ(number->dim(), 0);
  EXPECT_EQ(number->numel(), 1);
  EXPECT_EQ(make_tensor_ptr<float>({0, 4}, {})->numel(), 0);
}

TEST(TensorPtr, CopiesOfTheHandleKeepTheElements) {
  TensorPtr copy;
  {
    const TensorPtr x = make_tensor_ptr<float>({4}, {1, 2, 3, 4});
    copy = x;
  }
  EXPECT_EQ(copy->const_data_ptr<float>()[3], 4.0f);
}

TEST(TensorPtr, LiesOverMemoryOfTheCallers) {
  float data[12] = {};
  const TensorPtr x = from_blob(data, {1, 3, 2, 2});
  EXPECT_EQ(x->mutable_data_ptr(), data);
  EXPECT_EQ(x->stride(1), 4);
  const TensorPtr image = from_blob(data, {1, 3, 2, 2}, std::vector<DimOrderType>{0, 2, 3, 1});
  EXPECT_EQ(image->stride(1), 1);
  EXPECT_EQ(image->stride(3), 3);
}

TEST(TensorPtr, CallsTheDeleterOnce) {
  float data[2] = {};
  int calls = 0;
  const auto deleter = [&](void* freed) {
    EXPECT_EQ(freed, data);
    ++calls;
  };
  {
    const TensorPtr x = from_blob(data, {2}, ScalarType::Float, deleter);
    const TensorPtr copy = x;
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(from_blob(data, {-2}, ScalarType::Float, deleter), nullptr);
  EXPECT_EQ(calls, 2);
}

TEST(TensorPtr, FillsEveryDtype) {
  for (const ScalarType dtype :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long, ScalarType::Half,
        ScalarType::Float, ScalarType::Double, ScalarType::Bool, ScalarType::BFloat16, ScalarType::UInt16,
        ScalarType::UInt32, ScalarType::UInt64}) {
    const TensorPtr x = ones({3}, dtype);
    ASSERT_NE(x, nullptr) << dtype_name(dtype);
    EXPECT_EQ(x->nbytes(), 3 * element_size(dtype));
    EXPECT_NE(std::memcmp(x->const_data_ptr(), zeros({3}, dtype)->const_data_ptr(), x->nbytes()), 0);
  }
  EXPECT_EQ(full({2}, 2.5)->const_data_ptr<float>()[1], 2.5f);
  EXPECT_EQ(static_cast<float>(full({2}, -3, ScalarType::Half)->const_data_ptr<Half>()[0]), -3.0f);
  EXPECT_TRUE(full({1}, 0.5, ScalarType::Bool)->const_data_ptr<bool>()[0]);
  EXPECT_EQ(full({1}, 1, ScalarType::ComplexFloat), nullptr);
  EXPECT_MESSAGE("cannot be filled with a number");
}

TEST(TensorPtr, Clones) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  const TensorPtr x = from_blob(data, {2, 3}, std::vector<DimOrderType>{1, 0});
  const TensorPtr copy = clone_tensor_ptr(*x);
  data[5] = 0;
  EXPECT_EQ(copy->const_data_ptr<float>()[5], 6.0f);
  EXPECT_EQ(copy->stride(1), 2);
}

TEST(TensorPtr, RefusesImpossibleShapes) {
  EXPECT_EQ(empty({2, -1}), nullptr);
  EXPECT_MESSAGE("negative size");
  EXPECT_EQ(empty(std::vector<SizesType>(17, 1)), nullptr);
  EXPECT_MESSAGE("17 dimensions; the most are 16");
  EXPECT_EQ(empty({INT32_MAX, INT32_MAX, INT32_MAX}), nullptr);
  EXPECT_EQ(make_tensor_ptr<float>({2, 3}, {1, 2}), nullptr);
  EXPECT_MESSAGE("2 elements are given for a tensor of 6");
  float data[6];
  EXPECT_EQ(from_blob(data, {2, 3}, std::vector<DimOrderType>{0, 0}), nullptr);
  EXPECT_MESSAGE("each of the 2 dimensions once");
}

TEST(TensorPtr, IsWhatModulesTake) {
  const std::vector<uint8_t> bytes = build(small_net());
  Module::Options options;
  options.environment.kernels = default_kernels();
  options.environment.backends = default_backends();
  auto module = Module::load_buffer(bytes.data(), bytes.size(), options);
  ASSERT_TRUE(module.ok()) << last_error_message();
  const TensorPtr x = full({1, 3, 6, 6}, 0.1);
  auto outputs = (*module)->forward(x);
  ASSERT_TRUE(outputs.ok()) << last_error_message();
  const std::vector<float> first = floats_of((*outputs)[0]);
  auto again = (*module)->forward(*x);
  ASSERT_TRUE(again.ok()) << last_error_message();
  EXPECT_EQ(floats_of((*again)[0]), first);
  auto named = (*module)->execute("forward", x);
  ASSERT_TRUE(named.ok()) << last_error_message();
  EXPECT_EQ(floats_of((*named)[0]), first);
  EXPECT_FALSE((*module)->execute("encode", x).ok());
  EXPECT_FALSE((*module)->forward(TensorPtr()).ok());
  EXPECT_FALSE((*module)->forward(2.5).ok());
  EXPECT_FALSE((*module)->forward().ok());
}

}  // namespace
}  // namespace rushlight::testing
