#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "exec/initial_state.h"
#include "exec/method_loader.h"
#include "program/shape.h"

namespace rushlight {

// Sets the flags of all values before any value is loaded.
Error MethodLoader::mark_references() {
  const size_t count = plan_.num_values();
  RL_TRY(allocate_array(count, &flags_));
  for (size_t i = 0; i < count; ++i) flags_[i] = 0;
  for (const int32_t input : plan_.inputs()) flags_[input] |= kInput;
  for (size_t i = 0; i < count; ++i) {
    const Tag tag = plan_.tag(i);
    if (tag == Tag::ListInt) {
      for (const int64_t item : plan_.int_list(i)) flags_[item] |= kRead;
    } else if (tag == Tag::ListTensor || tag == Tag::ListOptionalTensor) {
      for (const int32_t item : plan_.tensor_list(i)) {
        if (item >= 0) flags_[item] |= kRead;
      }
    } else if (tag == Tag::Tensor) {
      const TensorSource source = plan_.tensor(i).source;
      if (source == TensorSource::Constant || source == TensorSource::External) flags_[i] |= kReadOnly | kWritten;
      if (source == TensorSource::PlannedInitial || source == TensorSource::PlannedExternal) flags_[i] |= kWritten;
      const bool has_elements = plan_.tensor(i).nbytes > 0;
      const bool is_bounded = plan_.tensor(i).dynamism != ShapeDynamism::DYNAMIC_UNBOUND;
      if (source == TensorSource::Caller && has_elements && is_bounded) flags_[i] |= kUnset;
    }
  }
  for (const int32_t input : plan_.inputs()) flags_[input] &= static_cast<uint8_t>(~kUnset);
  for (const int32_t output : plan_.outputs()) {
    flags_[output] |= kRead;
    flags_[output] &= static_cast<uint8_t>(~kUnset);
  }
  for (size_t chain = 0; chain < plan_.num_chains(); ++chain) {
    for (size_t i = 0; i < plan_.num_instructions(chain); ++i) {
      const InstructionView view = plan_.instruction(chain, i);
      for (const int32_t argument : view.args) flags_[argument] |= kRead;
      if (view.kind == InstructionKind::Move || view.kind == InstructionKind::JumpFalse) flags_[view.first] |= kRead;
    }
  }
  propagate_read_only();
  return Error::Ok;
}

// Marks the targets of moves from constants, and the views of constants, as read-only. Compilers define values before
// they use them, so usually one pass finds all such values. If the last pass still finds one, all targets and views
// count as read-only.
void MethodLoader::propagate_read_only() {
  constexpr int kPasses = 8;
  for (int pass = 0; pass <= kPasses; ++pass) {
    bool has_changed = false;
    for (size_t chain = 0; chain < plan_.num_chains(); ++chain) {
      for (size_t i = 0; i < plan_.num_instructions(chain); ++i) {
        const InstructionView view = plan_.instruction(chain, i);
        size_t from = 0;
        size_t to = 0;
        if (view.kind == InstructionKind::Move) {
          from = view.first;
          to = view.second;
        } else if (is_view_call(view)) {
          from = static_cast<size_t>(view.args[0]);
          to = static_cast<size_t>(view.args[kViewOut]);
        } else {
          continue;
        }
        if ((flags_[to] & kReadOnly) || (!(flags_[from] & kReadOnly) && pass < kPasses)) continue;
        flags_[to] |= kReadOnly;
        has_changed = true;
      }
    }
    if (!has_changed) return;
  }
}

bool MethodLoader::is_view_call(const InstructionView& view) const {
  return kHasKernels && view.kind == InstructionKind::Kernel && view.args.size() > kViewOut &&
         std::string_view(operators_[view.first]->name) == "executorch_prim::et_view.default";
}

Error MethodLoader::load_values() {
  const size_t count = plan_.num_values();
  RL_TRY(allocate_array(count, &state_.values));
  size_t external = 0;
  int devices = plan_.memory_devices();
  for (size_t i = 0; i < count; ++i) {
    new (&state_.values[i]) EValue();
    if (plan_.tag(i) != Tag::Tensor) continue;
    const TensorView view = plan_.tensor(i);
    external += view.source == TensorSource::External;
    devices |= view.device;
  }
  RL_REQUIRE(devices == 0, NotSupported, "method '%.80s' is planned for another device than the CPU", method_name());
  RL_TRY(allocate_array(external, &state_.external));
  for (size_t i = 0; i < count; ++i) {
    switch (plan_.tag(i)) {
      case Tag::Tensor:
        RL_TRY(load_tensor(i));
        break;
      case Tag::ListInt:
      case Tag::ListDouble:
      case Tag::ListBool:
      case Tag::ListTensor:
      case Tag::ListOptionalTensor:
        RL_TRY(load_list(i));
        break;
      default:
        RL_TRY(load_scalar(i));
    }
  }
  return Error::Ok;
}

Error MethodLoader::load_scalar(size_t index) {
  EValue& value = state_.values[index];
  switch (plan_.tag(index)) {
    case Tag::Int:
      value = EValue(plan_.int_value(index));
      break;
    case Tag::Double:
      value = EValue(plan_.double_value(index));
      break;
    case Tag::Bool:
      value = EValue(plan_.bool_value(index));
      break;
    case Tag::String: {
      std::string_view* text = nullptr;
      RL_TRY(allocate_array(1, &text));
      new (text) std::string_view(plan_.string_value(index));
      value = EValue(text);
      break;
    }
    default:
      // A file may contain Null for an integer that is set at run time.
      if ((flags_[index] & (kInput | kRead)) == (kInput | kRead)) value = EValue(int64_t{0});
  }
  return Error::Ok;
}

Error MethodLoader::load_tensor(size_t index) {
  const TensorView view = plan_.tensor(index);
  const size_t dim = view.sizes.size();
  TensorImpl* tensor = nullptr;
  RL_TRY(allocate_array(1, &tensor));
  new (tensor) TensorImpl();
  tensor->dtype = view.dtype;
  tensor->dynamism = view.dynamism;
  tensor->dim = static_cast<uint8_t>(dim);
  tensor->dim_order = view.dim_order.data();
  tensor->numel = view.numel;
  tensor->capacity = view.nbytes;
  RL_TRY(allocate_array(dim, &tensor->strides));
  if (view.dynamism == ShapeDynamism::STATIC) {
    tensor->sizes = const_cast<SizesType*>(view.sizes.data());  // resize_tensor() never writes a static shape
  } else {
    RL_TRY(allocate_array(dim, &tensor->sizes));
    for (size_t i = 0; i < dim; ++i) tensor->sizes[i] = view.sizes[i];
    if (view.dynamism == ShapeDynamism::DYNAMIC_BOUND) tensor->max_sizes = view.sizes.data();
  }
  if (view.dynamism == ShapeDynamism::DYNAMIC_UNBOUND && !view.is_planned()) {
    // The tensor has no upper bound, so it is empty until it is resized.
    if (!(flags_[index] & kInput)) tensor->growth = state_.memory.method;
    for (size_t i = 0; i < dim; ++i) tensor->sizes[i] = 0;
    tensor->numel = 0;
  }
  strides_from_dim_order({tensor->sizes, dim}, tensor->dim_order, tensor->strides);
  RL_TRY(assign_memory(index, view, tensor));
  state_.values[index] = EValue(tensor);
  return Error::Ok;
}

Error MethodLoader::assign_memory(size_t index, const TensorView& view, TensorImpl* tensor) {
  switch (view.source) {
    case TensorSource::Caller:
      tensor->capacity = 0;
      return Error::Ok;
    case TensorSource::Constant: {
      RL_ASSIGN(const void* const data, plan_.constant(view));
      tensor->data = const_cast<void*>(data);  // check_not_constant() prevents kernels from writing it
      tensor->capacity = 0;
      return check_bools(state_, index, *tensor);
    }
    case TensorSource::External:
      return load_external(index, view, tensor);
    case TensorSource::Planned:
    case TensorSource::PlannedInitial:
    case TensorSource::PlannedExternal:
      break;
  }
  return assign_planned_memory(view, tensor);
}

// Lists the tensors that a run may fill with the poison pattern, and the tensors whose contents a run must keep:
// inputs, state and memory that methods share.
Error MethodLoader::list_poisoned() {
  const size_t count = plan_.num_values();
  RL_TRY(allocate_array(count, &state_.transient));
  RL_TRY(allocate_array(count, &state_.kept));
  for (size_t i = 0; i < count; ++i) {
    if (plan_.tag(i) != Tag::Tensor || !plan_.tensor(i).is_planned()) continue;
    const TensorView view = plan_.tensor(i);
    const bool is_shared = environment_.state && environment_.state->shares(view.memory);
    TensorImpl* tensor = tensor_of(state_.values[i]);
    if (view.source == TensorSource::Planned && (flags_[i] & (kInput | kState)) == 0 && !is_shared) {
      state_.transient[state_.num_transient++] = tensor;
    } else {
      state_.kept[state_.num_kept++] = tensor;
    }
  }
  return Error::Ok;
}

Error MethodLoader::assign_planned_memory(const TensorView& view, TensorImpl* tensor) const {
  RL_ASSIGN(tensor->data, state_.memory.planned->get(view.memory, view.offset, view.nbytes));
  RL_REQUIRE(reinterpret_cast<uintptr_t>(tensor->data) % element_alignment(view.dtype) == 0, InvalidArgument,
             "planned memory %u of method '%.80s' is not aligned to 16 bytes", view.memory + 1, method_name());
  return Error::Ok;
}

Error MethodLoader::load_external(size_t index, const TensorView& view, TensorImpl* tensor) {
  RL_TRY(check_external(state_, index, view));
  RL_ASSIGN(FreeableBuffer bytes, state_.data.outside()->data(view.name));
  RL_REQUIRE(bytes.size() >= view.nbytes, InvalidExternalData, "'%.80s' has %zu bytes in the data file, not %zu",
             view.name.data(), bytes.size(), view.nbytes);
  tensor->data = const_cast<void*>(bytes.data());
  RL_REQUIRE(reinterpret_cast<uintptr_t>(tensor->data) % element_alignment(view.dtype) == 0, InvalidExternalData,
             "'%.80s' is not aligned to its elements in the data file", view.name.data());
  tensor->capacity = 0;
  new (&state_.external[state_.num_external++]) FreeableBuffer(std::move(bytes));
  return check_bools(state_, index, *tensor);
}

template <typename T, typename Item>
Error MethodLoader::load_boxed_list(size_t index, Span<const Item> items) {
  EValue** values = nullptr;
  T* storage = nullptr;
  BoxedList<T>* list = nullptr;
  RL_TRY(allocate_array(items.size(), &values));
  RL_TRY(allocate_array(items.size(), &storage));
  RL_TRY(allocate_array(1, &list));
  for (size_t i = 0; i < items.size(); ++i) {
    values[i] = items[i] >= 0 ? &state_.values[items[i]] : nullptr;
    std::memset(static_cast<void*>(&storage[i]), 0, sizeof(T));
  }
  new (list) BoxedList<T>{values, storage, static_cast<uint32_t>(items.size())};
  state_.values[index] = EValue(list);
  return Error::Ok;
}

Error MethodLoader::load_list(size_t index) {
  switch (plan_.tag(index)) {
    case Tag::ListInt:
      return load_boxed_list<int64_t>(index, plan_.int_list(index));
    case Tag::ListTensor:
      return load_boxed_list<Tensor>(index, plan_.tensor_list(index));
    case Tag::ListOptionalTensor:
      return load_boxed_list<std::optional<Tensor>>(index, plan_.tensor_list(index));
    case Tag::ListDouble: {
      Span<const double>* list = nullptr;
      RL_TRY(allocate_array(1, &list));
      state_.values[index] = EValue(new (list) Span<const double>(plan_.double_list(index)));
      return Error::Ok;
    }
    default: {
      Span<const bool>* list = nullptr;
      RL_TRY(allocate_array(1, &list));
      state_.values[index] = EValue(new (list) Span<const bool>(plan_.bool_list(index)));
      return Error::Ok;
    }
  }
}

Error MethodLoader::load_inputs_outputs() {
  const auto inputs = plan_.inputs();
  const auto outputs = plan_.outputs();
  RL_TRY(allocate_array(inputs.size(), &state_.inputs));
  RL_TRY(allocate_array(outputs.size(), &state_.outputs));
  RL_TRY(allocate_array(inputs.size() + outputs.size(), &state_.from_caller));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t index = static_cast<size_t>(inputs[i]);
    state_.inputs[i] = input_or_output(index);
    state_.inputs[i].is_fixed = !state_.inputs[i].tensor && !(flags_[index] & kRead);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t index = static_cast<size_t>(outputs[i]);
    state_.outputs[i] = input_or_output(index);
    // The memory of an output that is an input, too, is that of the input.
    if (flags_[index] & kInput) state_.outputs[i].from_caller = false;
  }
  state_.num_inputs = static_cast<uint32_t>(inputs.size());
  state_.num_outputs = static_cast<uint32_t>(outputs.size());
  return Error::Ok;
}

InputOutput MethodLoader::input_or_output(size_t index) {
  EValue& value = state_.values[index];
  TensorImpl* tensor = tensor_of(value);
  const bool from_caller = tensor && !tensor->growth && plan_.tensor(index).source == TensorSource::Caller;
  if (from_caller) state_.from_caller[state_.num_from_caller++] = tensor;
  return {&value, tensor, from_caller, false};
}

}  // namespace rushlight
