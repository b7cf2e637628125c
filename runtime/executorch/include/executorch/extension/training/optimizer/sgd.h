#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "executorch/extension/tensor/tensor_ptr.h"
#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "rushlight/training/sgd.h"

namespace executorch {
namespace extension {
namespace training {
namespace optimizer {

// The state of the optimizer for one parameter: the momentum buffer.
class SGDParamState {
 public:
  explicit SGDParamState(aten::Tensor& momentum_buffer) : momentum_buffer_(momentum_buffer) {}
  aten::Tensor& momentum_buffer() { return momentum_buffer_; }

 private:
  aten::Tensor momentum_buffer_;
};

// The options of stochastic gradient descent, with the names of torch.optim.SGD; rushlight/training/sgd.h contains the
// formulas. SGD::step() checks the options.
class SGDOptions {
 public:
  explicit SGDOptions(double lr, double momentum = 0, double dampening = 0, double weight_decay = 0,
                      bool nesterov = false)
      : native_{lr, momentum, dampening, weight_decay, nesterov} {}
  std::unique_ptr<SGDOptions> clone() const { return std::make_unique<SGDOptions>(*this); }
  double lr() const { return native_.lr; }
  double momentum() const { return native_.momentum; }
  double dampening() const { return native_.dampening; }
  double weight_decay() const { return native_.weight_decay; }
  bool nesterov() const { return native_.nesterov; }
  const ::rushlight::SgdOptions& native() const { return native_; }

 private:
  ::rushlight::SgdOptions native_;
};

// Parameters with common options. A group without options uses the options of the optimizer.
class SGDParamGroup {
 public:
  SGDParamGroup(const std::map<std::string_view, aten::Tensor>& named_parameters)  // NOLINT
      : named_parameters_(named_parameters) {}
  SGDParamGroup(const std::map<std::string_view, aten::Tensor>& named_parameters, std::unique_ptr<SGDOptions> options)
      : named_parameters_(named_parameters), options_(std::move(options)) {}
  SGDParamGroup(const SGDParamGroup& other)
      : named_parameters_(other.named_parameters_), options_(other.options_ ? other.options_->clone() : nullptr) {}
  SGDParamGroup& operator=(const SGDParamGroup& other) {
    named_parameters_ = other.named_parameters_;
    options_ = other.options_ ? other.options_->clone() : nullptr;
    return *this;
  }
  SGDParamGroup(SGDParamGroup&&) noexcept = default;
  SGDParamGroup& operator=(SGDParamGroup&&) noexcept = default;
  ~SGDParamGroup() = default;

  bool has_options() const { return options_ != nullptr; }
  // The group must have options.
  SGDOptions& options() { return *options_; }
  const SGDOptions& options() const { return *options_; }
  void set_options(std::unique_ptr<SGDOptions> options) { options_ = std::move(options); }
  const std::map<std::string_view, aten::Tensor>& named_parameters() const { return named_parameters_; }

 private:
  std::map<std::string_view, aten::Tensor> named_parameters_;
  std::unique_ptr<SGDOptions> options_;
};

// Stochastic gradient descent over groups of named parameters, which it updates in place. The names and tensors must
// outlive it.
class SGD {
 public:
  explicit SGD(const std::vector<SGDParamGroup>& param_groups, SGDOptions defaults)
      : param_groups_(param_groups), defaults_(defaults) {}
  explicit SGD(const std::map<std::string_view, aten::Tensor>& named_parameters, SGDOptions defaults)
      : SGD(std::vector<SGDParamGroup>{SGDParamGroup(named_parameters)}, defaults) {}

  void add_param_group(const SGDParamGroup& param_group) { param_groups_.push_back(param_group); }

  // Updates each parameter that has a gradient with its name. Returns InvalidArgument or NotSupported at the first
  // parameter that cannot be updated, for example because the gradient has another shape or dtype. The parameters
  // before it are updated.
  ET_NODISCARD runtime::Error step(const std::map<std::string_view, aten::Tensor>& named_gradients);

 private:
  std::vector<SGDParamGroup> param_groups_;
  SGDOptions defaults_;
  std::unordered_map<const void*, TensorPtr> directions_;  // by the address of the parameter
};

}  // namespace optimizer
}  // namespace training
}  // namespace extension
}  // namespace executorch
