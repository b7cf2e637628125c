#include <cstdint>
#include <memory>
#include <utility>

#include "executorch/extension/training/module/state_dict_util.h"
#include "executorch/extension/training/module/training_module.h"
#include "executorch/extension/training/optimizer/adamw.h"
#include "executorch/extension/training/optimizer/sgd.h"
#include "executorch/runtime/platform/log.h"
#include "training/arguments.h"

namespace executorch {
namespace extension {
namespace training {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Result;

// Prefixes of the methods that describe a joint graph. The name of the joint graph's method follows the prefix.
constexpr const char* kGradientsIndex = "__et_training_gradients_index_";
constexpr const char* kParametersIndex = "__et_training_parameters_index_";
constexpr const char* kParameterNames = "__et_training_fqn_";

}  // namespace

Result<TrainingModule::JointGraph*> TrainingModule::joint_graph(const std::string& method_name) {
  const auto found = graphs_.find(method_name);
  if (found != graphs_.end()) return &found->second;
  RL_ASSIGN(const auto methods, method_names());
  for (const char* prefix : {"", kGradientsIndex, kParametersIndex, kParameterNames}) {
    const std::string needed = prefix + method_name;
    ET_CHECK_OR_RETURN_ERROR(methods.count(needed) != 0, InvalidArgument,
                             "method %s is not a joint graph of the forward and backward pass: there is no method %s",
                             method_name.c_str(), needed.c_str());
  }
  size_t index[2];
  for (const int i : {0, 1}) {
    RL_ASSIGN(const EValue value, get((i == 0 ? kGradientsIndex : kParametersIndex) + method_name));
    ET_CHECK_OR_RETURN_ERROR(value.isInt() && value.toInt() >= 0, InvalidProgram,
                             "method %s: the index of the first %s is not an integer >= 0", method_name.c_str(),
                             i == 0 ? "gradient" : "parameter");
    index[i] = static_cast<size_t>(value.toInt());
  }
  JointGraph graph;
  graph.gradients = index[0];
  graph.parameters = index[1];
  RL_ASSIGN(const std::vector<EValue> names, execute(kParameterNames + method_name));
  for (const EValue& name : names) {
    ET_CHECK_OR_RETURN_ERROR(name.isString(), InvalidProgram, "method %s: the name of a parameter is not a string",
                             method_name.c_str());
    graph.names.push_back(name.toString());
  }
  RL_ASSIGN(const runtime::Method* loaded, method(method_name));
  const size_t count = graph.names.size();
  const size_t outputs = loaded->outputs_size();
  ET_CHECK_OR_RETURN_ERROR(count <= outputs && graph.parameters == outputs - count && count <= graph.parameters &&
                               graph.gradients == graph.parameters - count,
                           InvalidProgram,
                           "method %s has %zu outputs and names %zu parameters, but its gradients begin at output %zu "
                           "and its parameters at %zu",
                           method_name.c_str(), outputs, count, graph.gradients, graph.parameters);
  for (size_t i = graph.gradients; i < outputs; ++i) {
    ET_CHECK_OR_RETURN_ERROR(loaded->get_output(i).isTensor(), InvalidProgram, "method %s: output %zu is not a tensor",
                             method_name.c_str(), i);
  }
  return &graphs_.emplace(method_name, std::move(graph)).first->second;
}

Result<const std::map<std::string_view, aten::Tensor>> TrainingModule::named(const std::string& method_name,
                                                                             const JointGraph& graph, size_t first) {
  RL_ASSIGN(const runtime::Method* loaded, method(method_name));
  std::map<std::string_view, aten::Tensor> tensors;
  for (size_t i = 0; i < graph.names.size(); ++i) {
    tensors.insert({graph.names[i], loaded->get_output(first + i).toTensor()});
  }
  return tensors;
}

Result<std::vector<EValue>> TrainingModule::execute_forward_backward(const std::string& method_name,
                                                                     const std::vector<EValue>& input) {
  RL_ASSIGN(JointGraph* const graph, joint_graph(method_name));
  RL_ASSIGN(std::vector<EValue> outputs, execute(method_name, input));
  graph->is_executed = true;
  outputs.resize(graph->gradients);
  return outputs;
}

Result<const std::map<std::string_view, aten::Tensor>> TrainingModule::named_parameters(
    const std::string& method_name) {
  RL_ASSIGN(const JointGraph* const graph, joint_graph(method_name));
  return named(method_name, *graph, graph->parameters);
}

Result<const std::map<std::string_view, aten::Tensor>> TrainingModule::named_gradients(const std::string& method_name) {
  RL_ASSIGN(const JointGraph* const graph, joint_graph(method_name));
  ET_CHECK_OR_RETURN_ERROR(graph->is_executed, InvalidState,
                           "method %s has no gradients yet: call execute_forward_backward first", method_name.c_str());
  return named(method_name, *graph, graph->gradients);
}

Result<std::map<std::string, TensorPtr>> load_state_dict(const runtime::NamedDataMap& data) {
  RL_ASSIGN(const uint32_t count, data.get_num_keys());
  std::map<std::string, TensorPtr> tensors;
  for (uint32_t i = 0; i < count; ++i) {
    RL_ASSIGN(const char* const key, data.get_key(i));
    RL_ASSIGN(const runtime::TensorLayout layout, data.get_tensor_layout(key));
    auto elements = std::make_shared<std::vector<uint8_t>>(layout.nbytes());
    RL_TRY(data.load_data_into(key, elements->data(), elements->size()));
    TensorPtr tensor =
        make_tensor_ptr({layout.sizes().begin(), layout.sizes().end()}, elements->data(),
                        {layout.dim_order().begin(), layout.dim_order().end()}, {}, layout.scalar_type(),
                        aten::DeviceType::CPU, aten::TensorShapeDynamism::DYNAMIC_BOUND, [elements](void*) {});
    ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidArgument, "entry %s has an invalid shape", key);
    tensors[key] = std::move(tensor);
  }
  return tensors;
}

namespace optimizer {

namespace {

Error check(const ::rushlight::SgdOptions& options) { return check_sgd_options(options); }
Error check(const ::rushlight::AdamWOptions& options) { return check_adamw_options(options); }

// Calls `update` with the options, the parameter and the gradient of each parameter that has a gradient. The first pass
// checks all arguments, so that an error leaves the parameters unchanged.
template <typename Options, typename Update>
Error step_groups(const char* optimizer, const std::vector<ParamGroup<Options>>& groups, const Options& defaults,
                  const std::map<std::string_view, aten::Tensor>& named_gradients, const Update& update) {
  for (const bool checks : {true, false}) {
    for (const ParamGroup<Options>& group : groups) {
      const auto& options = (group.has_options() ? group.options() : defaults).native();
      if (checks) RL_TRY(check(options));
      for (const auto& [name, parameter] : group.named_parameters()) {
        const auto gradient = named_gradients.find(name);
        if (gradient == named_gradients.end()) continue;
        // Tensors without elements may all have the same address, so that they cannot have a state.
        if (!checks && parameter.numel() == 0) continue;
        const Error error = checks ? ::rushlight::check_gradient(optimizer, parameter, gradient->second)
                                   : update(options, parameter, gradient->second);
        if (error != Error::Ok) {
          ET_LOG(Error, "parameter %.*s: %s", static_cast<int>(name.size()), name.data(),
                 ::rushlight::last_error_message());
          return error;
        }
      }
    }
  }
  return Error::Ok;
}

}  // namespace

Error SGD::step(const std::map<std::string_view, aten::Tensor>& named_gradients) {
  return step_groups(
      "SGD", param_groups_, defaults_, named_gradients,
      [this](const ::rushlight::SgdOptions& options, const aten::Tensor& parameter, const aten::Tensor& gradient) {
        TensorPtr direction;
        const auto kept = directions_.find(parameter.const_data_ptr());
        const bool is_first = kept == directions_.end();
        if (options.momentum != 0) direction = is_first ? clone_tensor_ptr(parameter) : kept->second;
        RL_TRY(sgd_step(options, parameter, gradient, direction.get(), is_first));
        if (direction && is_first) directions_[parameter.const_data_ptr()] = std::move(direction);
        return Error::Ok;
      });
}

Error AdamW::step(const std::map<std::string_view, aten::Tensor>& named_gradients) {
  return step_groups(
      "AdamW", param_groups_, defaults_, named_gradients,
      [this](const ::rushlight::AdamWOptions& options, const aten::Tensor& parameter, const aten::Tensor& gradient) {
        auto kept = state_.find(parameter.const_data_ptr());
        if (kept == state_.end()) {
          const aten::ScalarType dtype = ::rushlight::adamw_moment_dtype(parameter.scalar_type());
          AdamWParamState first(clone_tensor_ptr(parameter, dtype), clone_tensor_ptr(parameter, dtype));
          kept = state_.emplace(parameter.const_data_ptr(), std::move(first)).first;
        }
        AdamWParamState& state = kept->second;
        // If a later step turns AMSGrad on, the largest second moment so far is the present one.
        if (options.amsgrad && !state.max_exp_avg_sq()) state.set_max_exp_avg_sq(clone_tensor_ptr(state.exp_avg_sq()));
        RL_TRY(adamw_step(options, parameter, gradient, state.exp_avg(), state.exp_avg_sq(),
                          state.max_exp_avg_sq().get(), state.step_count() + 1));
        state.increment_step_count();
        return Error::Ok;
      });
}

}  // namespace optimizer
}  // namespace training
}  // namespace extension
}  // namespace executorch
