#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "executorch/runtime/core/exec_aten/exec_aten.h"

namespace executorch {
namespace extension {
namespace training {
namespace optimizer {

// Parameters with common options. A group without options uses the options of the optimizer.
template <typename Options>
class ParamGroup {
 public:
  ParamGroup(const std::map<std::string_view, aten::Tensor>& named_parameters)  // NOLINT
      : named_parameters_(named_parameters) {}
  ParamGroup(const std::map<std::string_view, aten::Tensor>& named_parameters, std::unique_ptr<Options> options)
      : named_parameters_(named_parameters), options_(std::move(options)) {}
  ParamGroup(const ParamGroup& other)
      : named_parameters_(other.named_parameters_), options_(other.options_ ? other.options_->clone() : nullptr) {}
  ParamGroup& operator=(const ParamGroup& other) {
    named_parameters_ = other.named_parameters_;
    options_ = other.options_ ? other.options_->clone() : nullptr;
    return *this;
  }
  ParamGroup(ParamGroup&&) noexcept = default;
  ParamGroup& operator=(ParamGroup&&) noexcept = default;
  ~ParamGroup() = default;

  bool has_options() const { return options_ != nullptr; }
  // The group must have options.
  Options& options() { return *options_; }
  const Options& options() const { return *options_; }
  void set_options(std::unique_ptr<Options> options) { options_ = std::move(options); }
  const std::map<std::string_view, aten::Tensor>& named_parameters() const { return named_parameters_; }

 private:
  std::map<std::string_view, aten::Tensor> named_parameters_;
  std::unique_ptr<Options> options_;
};

// The groups of an optimizer. The names and tensors must outlive it.
template <typename Options>
class ParamGroups {
 public:
  explicit ParamGroups(const std::vector<ParamGroup<Options>>& param_groups, Options defaults)
      : param_groups_(param_groups), defaults_(defaults) {}
  explicit ParamGroups(const std::map<std::string_view, aten::Tensor>& named_parameters, Options defaults)
      : ParamGroups(std::vector<ParamGroup<Options>>{ParamGroup<Options>(named_parameters)}, defaults) {}

  void add_param_group(const ParamGroup<Options>& param_group) { param_groups_.push_back(param_group); }
  // Options of a group can be changed between steps, for example by a schedule of the learning rate.
  std::vector<ParamGroup<Options>>& param_groups() { return param_groups_; }
  const std::vector<ParamGroup<Options>>& param_groups() const { return param_groups_; }

 protected:
  std::vector<ParamGroup<Options>> param_groups_;
  Options defaults_;
};

}  // namespace optimizer
}  // namespace training
}  // namespace extension
}  // namespace executorch
