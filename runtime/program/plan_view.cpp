#include "program/plan_view.h"

#include "program/shape.h"
#include "program/tables.h"

namespace rushlight {

schema::ExecutionPlan plan_at(const uint8_t* root, uint32_t index) { return program_at(root).execution_plan()[index]; }

namespace {

Tag tag_of(schema::KernelTypes type) {
  switch (type) {
    case schema::KernelTypes::Int:
      return Tag::Int;
    case schema::KernelTypes::Bool:
      return Tag::Bool;
    case schema::KernelTypes::Double:
      return Tag::Double;
    case schema::KernelTypes::Tensor:
      return Tag::Tensor;
    case schema::KernelTypes::String:
      return Tag::String;
    case schema::KernelTypes::IntList:
      return Tag::ListInt;
    case schema::KernelTypes::DoubleList:
      return Tag::ListDouble;
    case schema::KernelTypes::BoolList:
      return Tag::ListBool;
    case schema::KernelTypes::TensorList:
      return Tag::ListTensor;
    case schema::KernelTypes::OptionalTensorList:
      return Tag::ListOptionalTensor;
    case schema::KernelTypes::NONE:
    case schema::KernelTypes::Null:
      break;
  }
  return Tag::None;
}

TensorSource source_of(const schema::Tensor& tensor) {
  const bool is_planned = tensor.has_allocation_info();
  if (tensor.extra_tensor_info().location() == schema::TensorDataLocation::EXTERNAL) {
    return is_planned ? TensorSource::PlannedExternal : TensorSource::External;
  }
  if (tensor.data_buffer_idx() != 0) return is_planned ? TensorSource::PlannedInitial : TensorSource::Constant;
  return is_planned ? TensorSource::Planned : TensorSource::Caller;
}

TensorView view_of(const schema::Tensor& tensor) {
  const schema::AllocationDetails place = tensor.allocation_info();
  const schema::ExtraTensorInfo extra = tensor.extra_tensor_info();
  TensorView view{};
  view.dtype = static_cast<ScalarType>(tensor.scalar_type());
  view.dynamism = static_cast<ShapeDynamism>(tensor.shape_dynamism());
  view.source = source_of(tensor);
  view.sizes = span_of(tensor.sizes());
  view.dim_order = span_of(tensor.dim_order());
  view.numel = checked_numel(view.sizes);
  view.nbytes = static_cast<size_t>(view.numel) * element_size(view.dtype);
  if (place) {
    view.memory = place.memory_id() - 1;
    view.offset = static_cast<size_t>(uint64_t{place.memory_offset_high()} << 32 | place.memory_offset_low());
  }
  view.data = tensor.data_buffer_idx();
  view.data_segment = static_cast<uint32_t>(extra.mutable_data_segments_idx());
  view.device = static_cast<int8_t>(extra.device_type());
  view.name = extra.fully_qualified_name();
  return view;
}

TensorInfo info_of(const TensorView& view) {
  return {view.dtype, view.dynamism, view.sizes, view.dim_order, view.nbytes, view.is_planned(), view.name};
}

schema::EValue value_at(const uint8_t* root, uint32_t plan, size_t index) {
  return plan_at(root, plan).values()[index];
}

size_t planned_memories(const schema::ExecutionPlan& plan) {
  const size_t entries = plan.non_const_buffer_sizes().size();
  return entries > 0 ? entries - 1 : 0;
}

// Attributes are the tensors that have a name and planned memory.
bool is_attribute(const schema::EValue& value) {
  const schema::Tensor tensor = value.val_as_Tensor();
  return tensor && tensor.has_allocation_info() && !tensor.extra_tensor_info().fully_qualified_name().empty();
}

Result<Tag> input_output_tag(const schema::ExecutionPlan& plan, const flatbuffer::Vector<int32_t>& ends, size_t index,
                             const char* what) {
  RL_REQUIRE(index < ends.size(), InvalidArgument, "method '%.80s' has %u %ss; the index %zu is too large",
             plan.name().data(), ends.size(), what, index);
  return tag_of(plan.values()[ends[index]].val_type());
}

Result<TensorInfo> input_output_tensor(const schema::ExecutionPlan& plan, const flatbuffer::Vector<int32_t>& ends,
                                       size_t index, const char* what) {
  RL_ASSIGN(const Tag tag, input_output_tag(plan, ends, index, what));
  RL_REQUIRE(tag == Tag::Tensor, InvalidArgument, "%s %zu of method '%.80s' is not a tensor: its type is %s", what,
             index, plan.name().data(), to_string(tag));
  return info_of(view_of(plan.values()[ends[index]].val_as_Tensor()));
}

}  // namespace

#define PLAN plan_at(root_, index_)

std::string_view MethodMeta::name() const { return PLAN.name(); }
size_t MethodMeta::num_inputs() const { return PLAN.inputs().size(); }
size_t MethodMeta::num_outputs() const { return PLAN.outputs().size(); }
Result<Tag> MethodMeta::input_tag(size_t index) const { return input_output_tag(PLAN, PLAN.inputs(), index, "input"); }
Result<Tag> MethodMeta::output_tag(size_t index) const {
  return input_output_tag(PLAN, PLAN.outputs(), index, "output");
}
Result<TensorInfo> MethodMeta::input_tensor_meta(size_t index) const {
  return input_output_tensor(PLAN, PLAN.inputs(), index, "input");
}
Result<TensorInfo> MethodMeta::output_tensor_meta(size_t index) const {
  return input_output_tensor(PLAN, PLAN.outputs(), index, "output");
}

size_t MethodMeta::num_attributes() const {
  size_t count = 0;
  for (const schema::EValue value : PLAN.values()) count += is_attribute(value);
  return count;
}

Result<TensorInfo> MethodMeta::attribute_tensor_meta(size_t index) const {
  size_t count = 0;
  for (const schema::EValue value : PLAN.values()) {
    if (is_attribute(value) && count++ == index) return info_of(view_of(value.val_as_Tensor()));
  }
  return fail(Error::InvalidArgument, "method '%.80s' has %zu attributes; the index %zu is too large", name().data(),
              count, index);
}

size_t MethodMeta::num_memory_planned_buffers() const { return planned_memories(PLAN); }

Result<size_t> MethodMeta::memory_planned_buffer_size(size_t index) const {
  RL_REQUIRE(index < planned_memories(PLAN), InvalidArgument,
             "method '%.80s' has %zu planned memories; the index %zu is too large", name().data(),
             planned_memories(PLAN), index);
  return static_cast<size_t>(PLAN.non_const_buffer_sizes()[index + 1]);
}

size_t MethodMeta::num_instructions() const {
  size_t count = 0;
  for (const schema::Chain chain : PLAN.chains()) count += chain.instructions().size();
  return count;
}

size_t MethodMeta::num_operators() const { return PLAN.operators().size(); }

Result<OperatorName> MethodMeta::operator_name(size_t index) const {
  RL_REQUIRE(index < num_operators(), InvalidArgument, "method '%.80s' has %zu operators; the index %zu is too large",
             name().data(), num_operators(), index);
  const schema::Operator op = PLAN.operators()[index];
  return OperatorName{op.name(), op.overload()};
}

size_t MethodMeta::num_backends() const { return PLAN.delegates().size(); }

Result<std::string_view> MethodMeta::backend_name(size_t index) const {
  RL_REQUIRE(index < num_backends(), InvalidArgument, "method '%.80s' has %zu delegates; the index %zu is too large",
             name().data(), num_backends(), index);
  return PLAN.delegates()[index].id();
}

bool MethodMeta::uses_backend(std::string_view id) const {
  for (const schema::BackendDelegate delegate : PLAN.delegates()) {
    if (delegate.id() == id) return true;
  }
  return false;
}

std::string_view MethodMeta::encoded_input_spec() const { return PLAN.container_meta_type().encoded_inp_str(); }
std::string_view MethodMeta::encoded_output_spec() const { return PLAN.container_meta_type().encoded_out_str(); }

#undef PLAN

#define PLAN plan_at(program_->root_, index_)

std::string_view PlanView::name() const { return PLAN.name(); }
size_t PlanView::num_values() const { return PLAN.values().size(); }
Tag PlanView::tag(size_t index) const { return tag_of(value_at(program_->root_, index_, index).val_type()); }
TensorView PlanView::tensor(size_t index) const {
  return view_of(value_at(program_->root_, index_, index).val_as_Tensor());
}
int64_t PlanView::int_value(size_t index) const {
  return value_at(program_->root_, index_, index).val_as_Int().int_val();
}
double PlanView::double_value(size_t index) const {
  return value_at(program_->root_, index_, index).val_as_Double().double_val();
}
bool PlanView::bool_value(size_t index) const {
  return value_at(program_->root_, index_, index).val_as_Bool().bool_val();
}
std::string_view PlanView::string_value(size_t index) const {
  return value_at(program_->root_, index_, index).val_as_String().string_val();
}
Span<const double> PlanView::double_list(size_t index) const {
  return span_of(value_at(program_->root_, index_, index).val_as_DoubleList().items());
}
Span<const bool> PlanView::bool_list(size_t index) const {
  return span_of(value_at(program_->root_, index_, index).val_as_BoolList().items());
}
Span<const int64_t> PlanView::int_list(size_t index) const {
  return span_of(value_at(program_->root_, index_, index).val_as_IntList().items());
}
Span<const int32_t> PlanView::tensor_list(size_t index) const {
  const schema::EValue value = value_at(program_->root_, index_, index);
  if (value.val_type() == schema::KernelTypes::TensorList) return span_of(value.val_as_TensorList().items());
  return span_of(value.val_as_OptionalTensorList().items());
}

Span<const int32_t> PlanView::inputs() const { return span_of(PLAN.inputs()); }
Span<const int32_t> PlanView::outputs() const { return span_of(PLAN.outputs()); }

size_t PlanView::num_planned_memories() const { return planned_memories(PLAN); }
int PlanView::memory_devices() const {
  int device = 0;
  for (const schema::NonConstBufferDevice memory : PLAN.non_const_buffer_device()) {
    device |= static_cast<int>(memory.device_type());
  }
  return device;
}
size_t PlanView::planned_memory_size(size_t index) const {
  return static_cast<size_t>(PLAN.non_const_buffer_sizes()[index + 1]);
}

size_t PlanView::num_operators() const { return PLAN.operators().size(); }
OperatorName PlanView::operator_name(size_t index) const {
  const schema::Operator op = PLAN.operators()[index];
  return {op.name(), op.overload()};
}

size_t PlanView::num_delegates() const { return PLAN.delegates().size(); }
std::string_view PlanView::delegate_id(size_t index) const { return PLAN.delegates()[index].id(); }
size_t PlanView::num_compile_specs(size_t delegate) const { return PLAN.delegates()[delegate].compile_specs().size(); }
CompileSpec PlanView::compile_spec(size_t delegate, size_t index) const {
  const schema::CompileSpec spec = PLAN.delegates()[delegate].compile_specs()[index];
  return {spec.key(), span_of(spec.value())};
}

Result<FreeableBuffer> PlanView::load_delegate_data(size_t delegate) const {
  const schema::BackendDelegateDataReference data = PLAN.delegates()[delegate].processed();
  if (data.location() == schema::DataLocation::SEGMENT) {
    return program_->load_segment(data.index(), SegmentKind::Backend);
  }
  const auto bytes = program_at(program_->root_).backend_delegate_data()[data.index()].data();
  return FreeableBuffer(bytes.data(), bytes.size());
}

size_t PlanView::num_chains() const { return PLAN.chains().size(); }
size_t PlanView::num_instructions(size_t chain) const { return PLAN.chains()[chain].instructions().size(); }

SourceLine PlanView::source_line(size_t chain, size_t index) const {
  const auto traces = PLAN.chains()[chain].stacktrace();
  SourceLine found;
  if (index >= traces.size()) return found;
  const auto frames = traces[index].items();  // outermost frame first
  for (uint32_t i = frames.size(); i-- > 0;) {
    const schema::Frame frame = frames[i];
    if (found.file.empty()) found = {frame.filename(), frame.lineno()};
    if (frame.filename().find("/torch/") == std::string_view::npos) return {frame.filename(), frame.lineno()};
  }
  return found;
}

InstructionView PlanView::instruction(size_t chain, size_t index) const {
  const schema::Instruction instruction = PLAN.chains()[chain].instructions()[index];
  const auto number = [](int32_t value) { return static_cast<uint32_t>(value); };
  switch (instruction.instr_args_type()) {
    case schema::InstructionArguments::KernelCall: {
      const schema::KernelCall call = instruction.instr_args_as_KernelCall();
      return {InstructionKind::Kernel, number(call.op_index()), 0, span_of(call.args())};
    }
    case schema::InstructionArguments::DelegateCall: {
      const schema::DelegateCall call = instruction.instr_args_as_DelegateCall();
      return {InstructionKind::Delegate, number(call.delegate_index()), 0, span_of(call.args())};
    }
    case schema::InstructionArguments::MoveCall: {
      const schema::MoveCall call = instruction.instr_args_as_MoveCall();
      return {InstructionKind::Move, number(call.move_from()), number(call.move_to()), {}};
    }
    case schema::InstructionArguments::JumpFalseCall: {
      const schema::JumpFalseCall call = instruction.instr_args_as_JumpFalseCall();
      return {InstructionKind::JumpFalse, number(call.cond_value_index()), number(call.destination_instruction()), {}};
    }
    case schema::InstructionArguments::FreeCall:
    case schema::InstructionArguments::NONE:
      break;
  }
  return {InstructionKind::Free, number(instruction.instr_args_as_FreeCall().value_index()), 0, {}};
}

Result<const void*> PlanView::constant(const TensorView& tensor) const {
  const schema::Program program = program_at(program_->root_);
  const uint8_t* data = nullptr;
  if (!program.constant_segment().offsets().empty()) {
    data = static_cast<const uint8_t*>(program_->constants_.data()) + program.constant_segment().offsets()[tensor.data];
  } else {
    data = program.constant_buffer()[tensor.data].storage().data();
  }
  RL_REQUIRE(tensor.nbytes == 0 || reinterpret_cast<uintptr_t>(data) % element_alignment(tensor.dtype) == 0,
             InvalidProgram, "constant %u is not aligned to its elements of %s", tensor.data, dtype_name(tensor.dtype));
  return static_cast<const void*>(data);
}

Error PlanView::load_initial_value(const TensorView& tensor, void* buffer) const {
  const schema::Program program = program_at(program_->root_);
  const schema::SubsegmentOffsets table = program.mutable_data_segments()[tensor.data_segment];
  const uint64_t offset =
      program_->segment_base_ + program.segments()[table.segment_index()].offset() + table.offsets()[tensor.data];
  return program_->loader_->load_into(static_cast<size_t>(offset), tensor.nbytes, SegmentKind::Mutable, buffer);
}

#undef PLAN

}  // namespace rushlight
