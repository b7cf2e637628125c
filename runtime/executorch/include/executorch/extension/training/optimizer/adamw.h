#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "executorch/extension/tensor/tensor_ptr.h"
#include "executorch/extension/training/optimizer/param_groups.h"
#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "rushlight/training/adamw.h"

namespace executorch {
namespace extension {
namespace training {
namespace optimizer {

// The state of the optimizer for one parameter. The tensors have the shape and dim order of the parameter. Those of
// float64 parameters are float64, all others are float32.
class AdamWParamState {
 public:
  AdamWParamState(TensorPtr exp_avg, TensorPtr exp_avg_sq, TensorPtr max_exp_avg_sq = nullptr, int64_t step_count = 0)
      : exp_avg_(std::move(exp_avg)),
        exp_avg_sq_(std::move(exp_avg_sq)),
        max_exp_avg_sq_(std::move(max_exp_avg_sq)),
        step_count_(step_count) {}
  aten::Tensor& exp_avg() { return *exp_avg_; }        // first moment
  aten::Tensor& exp_avg_sq() { return *exp_avg_sq_; }  // second moment
  // The largest second moment, or null without AMSGrad.
  const TensorPtr& max_exp_avg_sq() const { return max_exp_avg_sq_; }
  void set_max_exp_avg_sq(TensorPtr max_exp_avg_sq) { max_exp_avg_sq_ = std::move(max_exp_avg_sq); }
  int64_t step_count() const { return step_count_; }
  void increment_step_count() { ++step_count_; }

 private:
  TensorPtr exp_avg_;
  TensorPtr exp_avg_sq_;
  TensorPtr max_exp_avg_sq_;
  int64_t step_count_;
};

// The options of AdamW, with the names and default values of torch.optim.AdamW; rushlight/training/adamw.h contains the
// formulas. AdamW::step() checks the options.
class AdamWOptions {
 public:
  explicit AdamWOptions(double lr = 1e-3, double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8,
                        double weight_decay = 1e-2, bool amsgrad = false)
      : native_{lr, beta1, beta2, eps, weight_decay, amsgrad} {}
  std::unique_ptr<AdamWOptions> clone() const { return std::make_unique<AdamWOptions>(*this); }
  double lr() const { return native_.lr; }
  double beta1() const { return native_.beta1; }
  double beta2() const { return native_.beta2; }
  double eps() const { return native_.eps; }
  double weight_decay() const { return native_.weight_decay; }
  bool amsgrad() const { return native_.amsgrad; }
  const ::rushlight::AdamWOptions& native() const { return native_; }

 private:
  ::rushlight::AdamWOptions native_;
};

using AdamWParamGroup = ParamGroup<AdamWOptions>;

// Adam with decoupled weight decay over groups of named parameters, which it updates in place. The names and tensors
// must outlive it.
class AdamW : public ParamGroups<AdamWOptions> {
 public:
  using ParamGroups::ParamGroups;

  // Updates each parameter that has a gradient with its name. Returns InvalidArgument or NotSupported if a parameter
  // cannot be updated, for example because the gradient has another shape or dtype. No parameter is then changed.
  ET_NODISCARD runtime::Error step(const std::map<std::string_view, aten::Tensor>& named_gradients);

  // The state of each parameter that has been updated, by the address of its elements (`const_data_ptr()`).
  std::unordered_map<const void*, AdamWParamState>& state() { return state_; }

 private:
  std::unordered_map<const void*, AdamWParamState> state_;
};

}  // namespace optimizer
}  // namespace training
}  // namespace extension
}  // namespace executorch
