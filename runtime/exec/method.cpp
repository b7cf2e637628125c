#include "rushlight/exec/method.h"

#include <cstring>
#include <utility>

#include "core/message.h"
#include "exec/method_loader.h"
#include "exec/method_state.h"
#include "exec/shape_guards.h"

namespace rushlight {
namespace {

// Returns whether `given` has the strides of `tensor` in all dimensions with more than one element.
bool same_layout(const TensorImpl& tensor, const Tensor& given) {
  StridesType strides[kMaxDim];
  strides_from_dim_order(given.sizes(), tensor.dim_order, strides);
  for (int64_t i = 0; i < given.dim(); ++i) {
    if (given.size(i) > 1 && given.stride(i) != strides[i]) return false;
  }
  return true;
}

// Sets the data of a tensor to memory of the caller.
void set_memory(MethodState& state, TensorImpl* tensor, void* data, size_t size) {
  tensor->data = data;
  tensor->capacity = size;
  for (uint32_t i = 0; i < state.num_views; ++i) {
    if (state.views[i].tensor == tensor) state.views[i] = {tensor, data, size};
  }
}

}  // namespace

Result<Method> Method::load(const Program& program, std::string_view name, const MemoryManager& memory,
                            const Environment& environment) {
  EventTracer* const tracer = environment.tracer;
  RL_REQUIRE(kHasTracing || !tracer, NotSupported, "the runtime was built without event tracing");
  if (tracer) {
    tracer->set_program_fingerprint(program.fingerprint());
    tracer->create_event_block("Default");
  }
  const EventTracerScope scope(tracer, {EventKind::Load}, name);
  RL_ASSIGN(const PlanView plan, program.plan(name));
  return MethodLoader::load(plan, memory, environment);
}

Method::Method(Method&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Method& Method::operator=(Method&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Method::~Method() {
  if (!state_) return;
  for (uint32_t i = state_->num_delegates; i-- > 0;) {
    DelegateState& delegate = state_->delegates[i];
    delegate.backend->destroy(delegate.handle);
    delegate.~DelegateState();
  }
  for (uint32_t i = state_->num_external; i-- > 0;) state_->external[i].~FreeableBuffer();
  state_->~MethodState();
}

MethodMeta Method::meta() const { return state_->plan.meta(); }
size_t Method::inputs_size() const { return state_->num_inputs; }
size_t Method::outputs_size() const { return state_->num_outputs; }
const EValue& Method::get_input(size_t index) const { return *state_->inputs[index].value; }
const EValue& Method::get_output(size_t index) const { return *state_->outputs[index].value; }
const ExecutionFailure& Method::failure() const { return state_->failure; }
bool Method::input_needs_memory(size_t index) const { return state_->inputs[index].from_caller; }
bool Method::output_needs_memory(size_t index) const { return state_->outputs[index].from_caller; }

Error Method::set_input(size_t index, const EValue& given) {
  const char* name = state_->plan.name().data();
  RL_REQUIRE(index < state_->num_inputs, InvalidArgument, "method '%.80s' has %u input%s; the index %zu is too large",
             name, state_->num_inputs, plural(state_->num_inputs), index);
  const InputOutput& input = state_->inputs[index];
  if (input.tensor) {
    RL_REQUIRE(given.is_tensor(), InvalidType,
               "input %zu of method '%.80s' is a tensor, but the value given is of type %s", index, name,
               to_string(given.tag));
    return set_tensor_input(index, given.to_tensor());
  }
  return set_plain_input(index, given);
}

Error Method::set_tensor_input(size_t index, const Tensor& given) {
  const char* name = state_->plan.name().data();
  InputOutput& input = state_->inputs[index];
  TensorImpl& tensor = *input.tensor;
  RL_REQUIRE(given.scalar_type() == tensor.dtype, InvalidArgument,
             "input %zu of method '%.80s' has elements of %s, but the tensor given has %s", index, name,
             dtype_name(tensor.dtype), dtype_name(given.scalar_type()));
  RL_REQUIRE(given.dim() == tensor.dim, InvalidArgument,
             "input %zu of method '%.80s' has %d dimension%s, but the tensor given has %d", index, name, tensor.dim,
             plural(tensor.dim), static_cast<int>(given.dim()));
  RL_TRY(check_input_range(*state_, static_cast<uint32_t>(index), given.sizes(), 0));
  for (int i = 0; i < tensor.dim; ++i) {
    const auto size = static_cast<int>(given.size(i));
    RL_REQUIRE(tensor.dynamism != ShapeDynamism::STATIC || size == tensor.sizes[i], InvalidArgument,
               "dim %d of input %zu of method '%.80s' has %d element%s, but the tensor given has %d", i, index, name,
               static_cast<int>(tensor.sizes[i]), plural(static_cast<unsigned>(tensor.sizes[i])), size);
    RL_REQUIRE(size >= 0 && (!tensor.max_sizes || size <= tensor.max_sizes[i]), InvalidArgument,
               "dim %d of input %zu of method '%.80s' has at most %d element%s, but the tensor given has %d", i, index,
               name, static_cast<int>(tensor.max_sizes[i]), plural(static_cast<unsigned>(tensor.max_sizes[i])), size);
  }
  RL_REQUIRE(same_layout(tensor, given), InvalidArgument,
             "the tensor given for input %zu of method '%.80s' is not dense in the method's dim order; copy it to %s "
             "memory format",
             index, name,
             is_contiguous_dim_order({tensor.dim_order, tensor.dim})      ? "contiguous"
             : is_channels_last_dim_order({tensor.dim_order, tensor.dim}) ? "channels-last"
                                                                          : "the method's");
  RL_REQUIRE(given.const_data_ptr() || given.nbytes() == 0, InvalidArgument,
             "the tensor given for input %zu of method '%.80s' has no data", index, name);
  if (input.from_caller) {
    set_memory(*state_, &tensor, given.mutable_data_ptr(), given.nbytes());
  }
  RL_TRY(resize_tensor(Tensor(&tensor), given.sizes()));
  if (!input.from_caller && given.const_data_ptr() != tensor.data && given.nbytes() > 0) {
    std::memmove(tensor.data, given.const_data_ptr(), given.nbytes());  // the tensor may be a result of this method
  }
  *input.value = EValue(&tensor);
  return Error::Ok;
}

Error Method::set_plain_input(size_t index, const EValue& given) {
  const char* name = state_->plan.name().data();
  EValue& value = *state_->inputs[index].value;
  const bool is_free = value.is_none() && given.tag == Tag::Int;  // an integer that no instruction reads
  RL_REQUIRE(given.tag == value.tag || is_free, InvalidType,
             "input %zu of method '%.80s' is of type %s, but the value given is of type %s", index, name,
             to_string(value.tag), to_string(given.tag));
  if (given.tag == Tag::Int) {
    RL_TRY(check_input_range(*state_, static_cast<uint32_t>(index), {}, given.to_int()));
  }
  if (!state_->inputs[index].is_fixed) {
    value = given;
    return Error::Ok;
  }
  switch (value.tag) {
    case Tag::Int:
      RL_REQUIRE(given.to_int() == value.to_int(), InvalidArgument,
                 "input %zu of method '%.80s' was fixed to %lld when it was exported, but %lld is given", index, name,
                 static_cast<long long>(value.to_int()), static_cast<long long>(given.to_int()));
      return Error::Ok;
    case Tag::Bool:
      RL_REQUIRE(given.to_bool() == value.to_bool(), InvalidArgument,
                 "input %zu of method '%.80s' was fixed to %s when it was exported, but %s is given", index, name,
                 value.to_bool() ? "true" : "false", given.to_bool() ? "true" : "false");
      return Error::Ok;
    case Tag::Double: {
      const double difference = given.to_double() - value.to_double();
      const bool both_nan = given.to_double() != given.to_double() && value.to_double() != value.to_double();
      RL_REQUIRE(difference == 0.0 || given.to_double() == value.to_double() || both_nan, InvalidArgument,
                 "input %zu of method '%.80s' was fixed to %g when it was exported, but %g is given", index, name,
                 value.to_double(), given.to_double());
      return Error::Ok;
    }
    case Tag::String:
      RL_REQUIRE(given.to_string_view() == value.to_string_view(), InvalidArgument,
                 "input %zu of method '%.80s' was fixed to '%.80s' when it was exported, but another string is given",
                 index, name, value.to_string_view().data());
      return Error::Ok;
    default:
      return Error::Ok;
  }
}

Error Method::set_inputs(Span<const EValue> values) {
  RL_REQUIRE(values.size() == state_->num_inputs, InvalidArgument, "method '%.80s' has %u input%s, but %zu %s given",
             state_->plan.name().data(), state_->num_inputs, plural(state_->num_inputs), values.size(),
             values.size() == 1 ? "is" : "are");
  for (size_t i = 0; i < values.size(); ++i) RL_TRY(set_input(i, values[i]));
  return Error::Ok;
}

Error Method::set_output_data_ptr(size_t index, void* data, size_t size) {
  const char* name = state_->plan.name().data();
  RL_REQUIRE(index < state_->num_outputs, InvalidArgument, "method '%.80s' has %u output%s; the index %zu is too large",
             name, state_->num_outputs, plural(state_->num_outputs), index);
  const InputOutput& output = state_->outputs[index];
  RL_REQUIRE(output.tensor, InvalidType, "output %zu of method '%.80s' is not a tensor: its type is %s", index, name,
             to_string(output.value->tag));
  RL_REQUIRE(output.from_caller, InvalidState,
             "output %zu of method '%.80s' has planned memory, so the caller cannot set its memory", index, name);
  TensorImpl& tensor = *output.tensor;
  size_t needed = element_size(tensor.dtype);
  for (int i = 0; i < tensor.dim; ++i) {
    needed *= static_cast<size_t>(tensor.max_sizes ? tensor.max_sizes[i] : tensor.sizes[i]);
  }
  RL_REQUIRE(data && size >= needed, InvalidArgument, "output %zu of method '%.80s' needs %zu bytes, but %zu are given",
             index, name, needed, data ? size : 0);
  set_memory(*state_, &tensor, data, size);
  return Error::Ok;
}

Result<Tensor> Method::get_attribute(std::string_view name) const {
  const PlanView& plan = state_->plan;
  for (size_t i = 0; i < plan.num_values(); ++i) {
    if (plan.tag(i) != Tag::Tensor || plan.tensor(i).name != name || name.empty()) continue;
    const Tensor tensor = state_->values[i].to_tensor();
    RL_REQUIRE(tensor.const_data_ptr() || tensor.numel() == 0, InvalidState, "'%.*s' of method '%.80s' has no memory",
               static_cast<int>(name.size()), name.data(), plan.name().data());
    return tensor;
  }
  return fail(Error::NotFound, "method '%.80s' has no buffer or parameter named '%.*s'", plan.name().data(),
              static_cast<int>(name.size()), name.data());
}

}  // namespace rushlight
