#include "exec/initial_state.h"

#include <cstring>

namespace rushlight {

Error check_bools(const MethodState& state, size_t index, const TensorImpl& tensor) {
  if (tensor.dtype != ScalarType::Bool) return Error::Ok;
  const auto* bytes = static_cast<const uint8_t*>(tensor.data);
  for (int64_t i = 0; i < tensor.numel; ++i) {
    RL_REQUIRE(bytes[i] <= 1, InvalidProgram,
               "value %zu of method '%.80s' is a bool tensor with the invalid element %d", index,
               state.plan.name().data(), bytes[i]);
  }
  return Error::Ok;
}

Error check_external(const MethodState& state, size_t index, const TensorView& view) {
  const char* const method_name = state.plan.name().data();
  const NamedDataMap* outside = state.data.outside();
  RL_REQUIRE(outside, NotFound, "value %zu of method '%.80s' needs '%.80s' from a data file (.ptd), but none is given",
             index, method_name, view.name.data());
  RL_ASSIGN(const TensorLayout layout, outside->tensor_layout(view.name));
  bool is_same = layout.dtype == view.dtype && layout.sizes.size() == view.sizes.size();
  for (size_t i = 0; is_same && i < view.sizes.size(); ++i) {
    is_same = layout.sizes[i] == view.sizes[i] && layout.dim_order[i] == view.dim_order[i];
  }
  RL_REQUIRE(is_same, InvalidExternalData,
             "'%.80s' in the data file differs in dtype, shape or dim order from the tensor that method '%.80s' needs",
             view.name.data(), method_name);
  return Error::Ok;
}

Error load_initial_values(MethodState& state, SharedState* shared) {
  for (size_t i = 0; i < state.plan.num_values(); ++i) {
    if (state.plan.tag(i) != Tag::Tensor) continue;
    const TensorView view = state.plan.tensor(i);
    const TensorImpl* tensor = tensor_of(state.values[i]);
    if (view.source == TensorSource::PlannedExternal) {
      RL_TRY(check_external(state, i, view));
      RL_TRY(state.data.outside()->load_into(view.name, tensor->data, view.nbytes));
    } else if (view.source == TensorSource::PlannedInitial) {
      if (shared && shared->holds(view.memory, view.offset)) continue;
      RL_TRY(state.plan.load_initial_value(view, tensor->data));
    } else {
      continue;
    }
    RL_TRY(check_bools(state, i, *tensor));
  }
  return Error::Ok;
}

}  // namespace rushlight
