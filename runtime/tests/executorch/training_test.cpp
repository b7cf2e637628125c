#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "executorch/extension/data_loader/buffer_data_loader.h"
#include "executorch/extension/tensor/tensor.h"
#include "executorch/extension/training/module/state_dict_util.h"
#include "executorch/extension/training/module/training_module.h"
#include "executorch/extension/training/optimizer/sgd.h"
#include "tests/support/kernels.h"

namespace executorch {
namespace {

using extension::make_tensor_ptr;
using extension::TensorPtr;
using extension::training::TrainingModule;
using extension::training::optimizer::SGD;
using extension::training::optimizer::SGDOptions;
using extension::training::optimizer::SGDParamGroup;
using runtime::Error;

using Named = std::map<std::string_view, aten::Tensor>;

std::vector<float> elements(const TensorPtr& tensor) {
  const float* data = tensor->const_data_ptr<float>();
  return {data, data + tensor->numel()};
}

TEST(ExecutorchTraining, GroupsHaveOptionsOfTheirOwn) {
  const TensorPtr a = make_tensor_ptr({2}, {1.0f, 2.0f});
  const TensorPtr b = make_tensor_ptr({2}, {1.0f, 2.0f});
  const TensorPtr c = make_tensor_ptr({1}, {5.0f});
  const TensorPtr gradient = make_tensor_ptr({2}, {1.0f, -2.0f});
  SGDParamGroup slow(Named{{"b", *b}}, std::make_unique<SGDOptions>(0.5, /*momentum=*/0.5));
  SGD optimizer({SGDParamGroup(Named{{"a", *a}, {"c", *c}})}, SGDOptions(0.25));
  optimizer.add_param_group(slow);
  slow.set_options(std::make_unique<SGDOptions>(100));  // the optimizer has a copy
  const Named gradients{{"a", *gradient}, {"b", *gradient}, {"unknown", *gradient}};

  ASSERT_EQ(optimizer.step(gradients), Error::Ok);
  EXPECT_EQ(elements(a), (std::vector<float>{0.75f, 2.5f}));
  EXPECT_EQ(elements(b), (std::vector<float>{0.5f, 3.0f}));
  ASSERT_EQ(optimizer.step(gradients), Error::Ok);
  EXPECT_EQ(elements(a), (std::vector<float>{0.5f, 3.0f}));
  EXPECT_EQ(elements(b), (std::vector<float>{-0.25f, 4.5f}));
  EXPECT_EQ(elements(c), (std::vector<float>{5.0f}));  // has no gradient
}

TEST(ExecutorchTraining, RefusesWhatDoesNotFit) {
  const TensorPtr a = make_tensor_ptr({2}, {1.0f, 2.0f});
  const TensorPtr longer = make_tensor_ptr({3}, {1.0f, 1.0f, 1.0f});
  const TensorPtr doubles = make_tensor_ptr<double>({2}, {1.0, 1.0});
  SGD optimizer(Named{{"a", *a}}, SGDOptions(0.5, 0.9));
  EXPECT_EQ(optimizer.step({{"a", *longer}}), Error::InvalidArgument);
  EXPECT_EQ(optimizer.step({{"a", *doubles}}), Error::InvalidArgument);
  SGD impossible(Named{{"a", *a}}, SGDOptions(-1));
  EXPECT_EQ(impossible.step({{"a", *a}}), Error::InvalidArgument);
  EXPECT_EQ(elements(a), (std::vector<float>{1.0f, 2.0f}));

  const TensorPtr integers = make_tensor_ptr<int64_t>({2}, {1, 2});
  SGD of_integers(Named{{"i", *integers}}, SGDOptions(0.5));
  EXPECT_EQ(of_integers.step({{"i", *integers}}), Error::NotSupported);
}

TEST(ExecutorchTraining, ATransposedParameterKeepsItsOrder) {
  const TensorPtr a = make_tensor_ptr({2, 2}, std::vector<float>{1, 2, 3, 4}, {1, 0});
  const TensorPtr same = make_tensor_ptr({2, 2}, std::vector<float>{1, 1, 1, 2}, {1, 0});
  const TensorPtr other = make_tensor_ptr({2, 2}, std::vector<float>{1, 1, 1, 1});
  SGD optimizer(Named{{"a", *a}}, SGDOptions(1, 0.5));
  ASSERT_EQ(optimizer.step({{"a", *same}}), Error::Ok);
  EXPECT_EQ(elements(a), (std::vector<float>{0, 1, 2, 2}));
  EXPECT_EQ(optimizer.step({{"a", *other}}), Error::InvalidArgument);
}

TEST(ExecutorchTraining, AProgramWithoutJointGraphIsRefused) {
  const std::vector<uint8_t> bytes = ::rushlight::testing::build(::rushlight::testing::add_program());
  TrainingModule module(std::make_unique<extension::BufferDataLoader>(bytes.data(), bytes.size()));
  const std::string name = *module.method_names()->begin();
  EXPECT_EQ(module.named_parameters(name).error(), Error::InvalidArgument);
  EXPECT_EQ(module.named_gradients(name).error(), Error::InvalidArgument);
  EXPECT_EQ(module.execute_forward_backward(name, {}).error(), Error::InvalidArgument);
}

// Two tensors, of which one has no elements that can be read.
class Weights final : public runtime::NamedDataMap {
 public:
  explicit Weights(bool is_damaged) : is_damaged_(is_damaged) {}
  runtime::Result<const runtime::TensorLayout> get_tensor_layout(std::string_view key) const override {
    static constexpr int32_t kSizes[] = {2, 2};
    static constexpr uint8_t kOrder[] = {1, 0};
    return runtime::TensorLayout::create({kSizes, key == "a" ? 1U : 2U},
                                         {key == "a" ? kOrder + 1 : kOrder, key == "a" ? 1U : 2U},
                                         aten::ScalarType::Float);
  }
  runtime::Result<runtime::FreeableBuffer> get_data(std::string_view) const override { return Error::NotSupported; }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    if (is_damaged_ && key == "b") return Error::InvalidExternalData;
    const float values[] = {1, 2, 3, 4};
    if (size > sizeof(values)) return Error::InvalidArgument;
    std::memcpy(buffer, values, size);
    return Error::Ok;
  }
  runtime::Result<uint32_t> get_num_keys() const override { return 2; }
  runtime::Result<const char*> get_key(uint32_t index) const override { return index == 0 ? "a" : "b"; }

 private:
  bool is_damaged_;
};

TEST(ExecutorchTraining, StateDict) {
  const auto state = extension::training::load_state_dict(Weights(false));
  ASSERT_TRUE(state.ok());
  ASSERT_EQ(state->size(), 2U);
  EXPECT_EQ(elements(state->at("a")), (std::vector<float>{1, 2}));
  const TensorPtr b = state->at("b");
  EXPECT_EQ(elements(b), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(b->dim(), 2);
  EXPECT_EQ(b->dim_order()[0], 1);
  EXPECT_EQ(extension::training::load_state_dict(Weights(true)).error(), Error::InvalidExternalData);
}

}  // namespace
}  // namespace executorch
