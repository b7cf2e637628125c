#include "rushlight/module/tensor_ptr.h"

#include <string>

#include "rushlight/core/half.h"
#include "rushlight/module/defaults.h"
#include "rushlight/module/module.h"
#include "rushlight/module/tensor_accessor.h"
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
  EXPECT_EQ(make_tensor_ptr({0, 4}, std::vector<float>{})->numel(), 0);
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
  const TensorPtr image = for_blob(data, {1, 3, 2, 2}).dim_order({0, 2, 3, 1});
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
  const TensorPtr x = from_blob(data, {2, 3}, {1, 2});
  const TensorPtr copy = clone_tensor_ptr(*x);
  data[5] = 0;
  EXPECT_EQ(copy->const_data_ptr<float>()[5], 6.0f);
  EXPECT_EQ(copy->stride(1), 2);
}

TEST(TensorPtr, RefusesImpossibleShapes) {
  EXPECT_EQ(empty({2, -1}), nullptr);
  EXPECT_MESSAGE("negative size");
  EXPECT_EQ(empty(std::vector<SizesType>(17, 1)), nullptr);
  EXPECT_MESSAGE("17 dimensions; the maximum is 16");
  EXPECT_EQ(empty({INT32_MAX, INT32_MAX, INT32_MAX}), nullptr);
  EXPECT_EQ(make_tensor_ptr<float>({2, 3}, {1, 2}), nullptr);
  EXPECT_MESSAGE("2 elements are given for a tensor of 6");
  float data[6];
  EXPECT_EQ(for_blob(data, {2, 3}).dim_order({0, 0}).make_tensor_ptr(), nullptr);
  EXPECT_MESSAGE("each of the 2 dimensions once");
}

TEST(TensorPtr, ConvertsElements) {
  const TensorPtr doubles = make_tensor_ptr<float>({2}, {1.5f, -2.5f}, {}, {}, ScalarType::Double);
  EXPECT_EQ(doubles->const_data_ptr<double>()[1], -2.5);
  const TensorPtr halves = make_tensor_ptr(std::vector<int32_t>{1, 2, 3}, ScalarType::Half);
  EXPECT_EQ(static_cast<float>(halves->const_data_ptr<Half>()[2]), 3.0f);
  EXPECT_EQ(clone_tensor_ptr(doubles, ScalarType::BFloat16)->nbytes(), 4u);
  EXPECT_EQ(clone_tensor_ptr(doubles, ScalarType::Int), nullptr);
  EXPECT_MESSAGE("elements of float64 cannot be converted to int32");
  EXPECT_EQ(make_tensor_ptr({2}, std::vector<uint8_t>(8), ScalarType::Float)->numel(), 2);
  EXPECT_EQ(make_tensor_ptr({2}, std::vector<uint8_t>(7), ScalarType::Float), nullptr);
  EXPECT_MESSAGE("7 bytes are given for a tensor of 8");
  EXPECT_EQ(make_tensor_ptr<bool>({2}, {true, false})->scalar_type(), ScalarType::Bool);
}

TEST(TensorPtr, TakesStridesOfDenseTensors) {
  float data[12] = {};
  EXPECT_EQ(from_blob(data, {2, 3}, {3, 1})->dim_order()[0], 0);
  const TensorPtr column = from_blob(data, {2, 1, 3}, {1, 7, 2});
  ASSERT_NE(column, nullptr) << last_error_message();
  EXPECT_EQ(column->stride(2), 2);
  EXPECT_EQ(from_blob(data, {2, 3}, {6, 2}), nullptr);
  EXPECT_MESSAGE("dimension 0 has the stride 6, but a dense tensor of this dim order has the stride 3");
  EXPECT_EQ(from_blob(data, {2, 3}, {3}), nullptr);
  EXPECT_EQ(full_like(column, 2)->stride(2), 2);
}

TEST(TensorPtr, ViewsAndResizes) {
  TensorPtr x = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const TensorPtr view = make_tensor_ptr(x, {3, 2});
  EXPECT_EQ(view->const_data_ptr(), x->const_data_ptr());
  EXPECT_EQ(make_tensor_ptr(*x, {7}), nullptr);
  EXPECT_MESSAGE("a view of 7 elements does not fit into a tensor of 6");
  EXPECT_EQ(resize_tensor_ptr(x, {1, 3}), Error::Ok);
  EXPECT_EQ(x->numel(), 3);
  EXPECT_EQ(resize_tensor_ptr(x, {3, 2}), Error::Ok);
  EXPECT_NE(resize_tensor_ptr(x, {3, 3}), Error::Ok);
  TensorPtr fixed = zeros({2}, ScalarType::Float, ShapeDynamism::STATIC);
  EXPECT_EQ(resize_tensor_ptr(fixed, {1}), Error::InvalidArgument);
}

TEST(TensorPtr, IsRandom) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16, ScalarType::Double}) {
    const TensorPtr uniform = clone_tensor_ptr(rand({1000}, type), ScalarType::Double);
    double sum = 0;
    for (int i = 0; i < 1000; ++i) {
      const double item = uniform->const_data_ptr<double>()[i];
      EXPECT_TRUE(item >= 0 && item < 1) << dtype_name(type) << " " << item;
      sum += item;
    }
    EXPECT_NEAR(sum / 1000, 0.5, 0.1);
  }
  const TensorPtr dice = randint(1, 7, {600});
  int counts[7] = {};
  for (int i = 0; i < 600; ++i) ++counts[dice->const_data_ptr<int32_t>()[i]];
  for (int side = 1; side < 7; ++side) EXPECT_GT(counts[side], 40);
  EXPECT_EQ(randint(3, 3, {1}), nullptr);
  EXPECT_NE(randn({4})->const_data_ptr<float>()[0], randn({4})->const_data_ptr<float>()[0]);
}

TEST(TensorPtr, HasAccessors) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  const TensorPtr x = from_blob(data, {2, 3}, {1, 2});
  auto accessor = make_tensor_accessor<float, 2>(*x);
  ASSERT_TRUE(accessor.ok());
  EXPECT_EQ((*accessor)[1][2], 6.0f);
  EXPECT_EQ((*accessor)[0][1], 3.0f);
  (*accessor)[0][1] = 30;
  EXPECT_EQ(data[2], 30.0f);
  EXPECT_EQ((make_tensor_accessor<float, 1>(*x).error()), Error::InvalidArgument);
  EXPECT_EQ((make_tensor_accessor<double, 2>(*x).error()), Error::InvalidArgument);
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
