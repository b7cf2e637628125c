#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "executorch/extension/tensor/tensor_ptr.h"
#include "executorch/extension/training/optimizer/param_groups.h"
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

using SGDParamGroup = ParamGroup<SGDOptions>;

// Stochastic gradient descent over groups of named parameters, which it updates in place. The names and tensors must
// outlive it.
class SGD : public ParamGroups<SGDOptions> {
 public:
  using ParamGroups::ParamGroups;

  // Updates each parameter that has a gradient with its name. Returns InvalidArgument or NotSupported if a parameter
  // cannot be updated, for example because the gradient has another shape or dtype. No parameter is then changed.
  ET_NODISCARD runtime::Error step(const std::map<std::string_view, aten::Tensor>& named_gradients);

 private:
  std::unordered_map<const void*, TensorPtr> directions_;  // by the address of the parameter
};

}  // namespace optimizer
}  // namespace training
}  // namespace extension
}  // namespace executorch
