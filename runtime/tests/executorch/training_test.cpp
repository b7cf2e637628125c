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
#include "executorch/extension/training/optimizer/adamw.h"
#include "executorch/extension/training/optimizer/sgd.h"
#include "tests/support/kernels.h"

namespace executorch {
namespace {

using extension::clone_tensor_ptr;
using extension::make_tensor_ptr;
using extension::TensorPtr;
using extension::training::TrainingModule;
using extension::training::optimizer::AdamW;
using extension::training::optimizer::AdamWOptions;
using extension::training::optimizer::AdamWParamGroup;
using extension::training::optimizer::AdamWParamState;
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

TEST(ExecutorchTraining, AnErrorLeavesAllParametersUnchanged) {
  const TensorPtr a = make_tensor_ptr({2}, {1.0f, 2.0f});
  const TensorPtr b = make_tensor_ptr({2}, {1.0f, 2.0f});
  const TensorPtr gradient = make_tensor_ptr({2}, {1.0f, 1.0f});
  const TensorPtr longer = make_tensor_ptr({3}, {1.0f, 1.0f, 1.0f});
  SGD sgd(Named{{"a", *a}, {"b", *b}}, SGDOptions(0.5));
  EXPECT_EQ(sgd.step({{"a", *gradient}, {"b", *longer}}), Error::InvalidArgument);
  AdamW adamw(Named{{"a", *a}, {"b", *b}}, AdamWOptions());
  EXPECT_EQ(adamw.step({{"a", *gradient}, {"b", *longer}}), Error::InvalidArgument);
  const std::vector<AdamWParamGroup> groups{AdamWParamGroup(Named{{"a", *a}}),
                                            {Named{{"b", *b}}, std::make_unique<AdamWOptions>(-1)}};
  AdamW impossible(groups, AdamWOptions());
  EXPECT_EQ(impossible.step({{"a", *gradient}, {"b", *gradient}}), Error::InvalidArgument);
  EXPECT_EQ(elements(a), (std::vector<float>{1.0f, 2.0f}));
  EXPECT_TRUE(adamw.state().empty());
}

TEST(ExecutorchTraining, AdamWGroupsHaveOptionsOfTheirOwn) {
  const AdamWOptions defaults;
  EXPECT_EQ(defaults.lr(), 1e-3);
  EXPECT_EQ(defaults.beta1(), 0.9);
  EXPECT_EQ(defaults.beta2(), 0.999);
  EXPECT_EQ(defaults.eps(), 1e-8);
  EXPECT_EQ(defaults.weight_decay(), 1e-2);
  EXPECT_FALSE(defaults.amsgrad());

  const TensorPtr a = make_tensor_ptr({2}, {1.0f, 2.0f});
  const TensorPtr b = make_tensor_ptr({2}, {1.0f, 2.0f});
  const TensorPtr c = make_tensor_ptr({1}, {5.0f});
  const TensorPtr gradient = make_tensor_ptr({2}, {1.0f, -2.0f});
  AdamW optimizer(Named{{"a", *a}, {"c", *c}}, AdamWOptions(0.25, 0.5, 0.5, 0, 0));
  optimizer.add_param_group({Named{{"b", *b}}, std::make_unique<AdamWOptions>(0.5, 0.5, 0.5, 0, 0)});
  ASSERT_EQ(optimizer.param_groups().size(), 2U);
  const Named gradients{{"a", *gradient}, {"b", *gradient}, {"unknown", *gradient}};

  // With a constant gradient, the ratio of the corrected moments is the sign of the gradient.
  ASSERT_EQ(optimizer.step(gradients), Error::Ok);
  EXPECT_EQ(elements(a), (std::vector<float>{0.75f, 2.25f}));
  EXPECT_EQ(elements(b), (std::vector<float>{0.5f, 2.5f}));
  optimizer.param_groups()[1].set_options(std::make_unique<AdamWOptions>(0, 0.5, 0.5, 0, 0));
  ASSERT_EQ(optimizer.step(gradients), Error::Ok);
  EXPECT_FLOAT_EQ(elements(a)[0], 0.5f);
  EXPECT_FLOAT_EQ(elements(a)[1], 2.5f);
  EXPECT_EQ(elements(b), (std::vector<float>{0.5f, 2.5f}));
  EXPECT_EQ(elements(c), (std::vector<float>{5.0f}));  // has no gradient

  ASSERT_EQ(optimizer.state().size(), 2U);
  AdamWParamState& state = optimizer.state().at(a->const_data_ptr());
  EXPECT_EQ(state.step_count(), 2);
  EXPECT_EQ(state.exp_avg().const_data_ptr<float>()[1], -1.5f);
  EXPECT_EQ(state.exp_avg_sq().const_data_ptr<float>()[1], 3.0f);
  EXPECT_EQ(state.max_exp_avg_sq(), nullptr);
}

TEST(ExecutorchTraining, AdamWKeepsTheLargestSecondMoment) {
  const TensorPtr a = make_tensor_ptr({1}, {1.0f});
  const TensorPtr large = make_tensor_ptr({1}, {4.0f});
  const TensorPtr zero = make_tensor_ptr({1}, {0.0f});
  AdamW optimizer(Named{{"a", *a}}, AdamWOptions(0.25, 0.5, 0.5, 0, 0));
  ASSERT_EQ(optimizer.step({{"a", *large}}), Error::Ok);
  // AMSGrad begins with the present second moment.
  optimizer.param_groups()[0].set_options(std::make_unique<AdamWOptions>(0.25, 0.5, 0.5, 0, 0, /*amsgrad=*/true));
  ASSERT_EQ(optimizer.step({{"a", *zero}}), Error::Ok);
  AdamWParamState& state = optimizer.state().at(a->const_data_ptr());
  EXPECT_EQ(state.exp_avg_sq().const_data_ptr<float>()[0], 4.0f);
  ASSERT_NE(state.max_exp_avg_sq(), nullptr);
  EXPECT_EQ(elements(state.max_exp_avg_sq()), (std::vector<float>{8.0f}));
}

TEST(ExecutorchTraining, AdamWKeepsMomentsOf16BitParametersInFloat32) {
  const TensorPtr half = clone_tensor_ptr(make_tensor_ptr({2}, {1.0f, 2.0f}), aten::ScalarType::Half);
  const TensorPtr gradient = clone_tensor_ptr(make_tensor_ptr({2}, {1.0f, -2.0f}), aten::ScalarType::Half);
  const TensorPtr empty = make_tensor_ptr({0, 2}, std::vector<float>{});
  const TensorPtr other = make_tensor_ptr({0}, std::vector<float>{});
  const Named gradients{{"half", *gradient}, {"empty", *empty}, {"other", *other}};
  AdamW optimizer(Named{{"half", *half}, {"empty", *empty}, {"other", *other}}, AdamWOptions(0.25, 0.5, 0.5, 0, 0));
  ASSERT_EQ(optimizer.step(gradients), Error::Ok);
  EXPECT_EQ(elements(clone_tensor_ptr(half, aten::ScalarType::Float)), (std::vector<float>{0.75f, 2.25f}));
  AdamWParamState& state = optimizer.state().at(half->const_data_ptr());
  EXPECT_EQ(state.exp_avg().scalar_type(), aten::ScalarType::Float);
  EXPECT_EQ(state.exp_avg_sq().scalar_type(), aten::ScalarType::Float);
}

TEST(ExecutorchTraining, ATransposedParameterKeepsItsOrder) {
  const TensorPtr a = make_tensor_ptr({2, 2}, std::vector<float>{1, 2, 3, 4}, {1, 0});
  const TensorPtr same = make_tensor_ptr({2, 2}, std::vector<float>{1, 1, 1, 2}, {1, 0});
  const TensorPtr other = make_tensor_ptr({2, 2}, std::vector<float>{1, 1, 1, 1});
  SGD optimizer(Named{{"a", *a}}, SGDOptions(1, 0.5));
  ASSERT_EQ(optimizer.step({{"a", *same}}), Error::Ok);
  EXPECT_EQ(elements(a), (std::vector<float>{0, 1, 2, 2}));
  EXPECT_EQ(optimizer.step({{"a", *other}}), Error::InvalidArgument);
  AdamW adamw(Named{{"a", *a}}, AdamWOptions(1, 0.5, 0.5, 0, 0));
  ASSERT_EQ(adamw.step({{"a", *same}}), Error::Ok);
  EXPECT_EQ(elements(a), (std::vector<float>{-1, 0, 1, 1}));
  EXPECT_EQ(adamw.step({{"a", *other}}), Error::InvalidArgument);
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
