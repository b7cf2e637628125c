#include "program/plan_validator.h"

#include <initializer_list>

#include "program/shape.h"
#include "program/tables.h"
#include "program/validator.h"
#include "rushlight/core/tensor.h"

// Does the same as RL_REQUIRE with InvalidProgram; the message begins with the name of the method.
#define VALIDATE(condition, format, ...) \
  RL_REQUIRE(condition, InvalidProgram, "method '%.80s': " format, name_, ##__VA_ARGS__)
#define VALIDATE_VALUE(condition, format, ...) VALIDATE(condition, "value %u " format, index, ##__VA_ARGS__)
#define VALIDATE_INSTRUCTION(condition, format, ...) \
  VALIDATE(condition, "instruction %u of chain %u " format, index, chain, ##__VA_ARGS__)

namespace rushlight {
namespace {

using schema::InstructionArguments;
using schema::KernelTypes;

}  // namespace

Error PlanValidator::spend(uint64_t items) {
  VALIDATE(items <= *budget_, "the method has more items than the size of the file allows");
  *budget_ -= items;
  return Error::Ok;
}

bool PlanValidator::has(const flatbuffer::Vector<int32_t>& ends, int64_t index) const {
  if (ends.size() > scans_) return false;
  scans_ -= ends.size();
  for (const int32_t end : ends) {
    if (end == index) return true;
  }
  return false;
}

// A file may contain Null for an integer that is an input.
bool PlanValidator::is_integer(int64_t index) const {
  if (!is_value(index)) return false;
  const KernelTypes type = values_[index].val_type();
  return type == KernelTypes::Int || (type == KernelTypes::Null && has(plan_.inputs(), index));
}

bool PlanValidator::is_tensor(int64_t index) const {
  return is_value(index) && values_[index].val_type() == KernelTypes::Tensor;
}

bool PlanValidator::is_optional_tensor(int64_t index) const {
  return index == -1 || is_tensor(index) || (is_value(index) && values_[index].val_type() == KernelTypes::Null);
}

Error PlanValidator::check_memories() {
  const auto sizes = plan_.non_const_buffer_sizes();
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    VALIDATE(sizes[i] >= 0 && static_cast<uint64_t>(sizes[i]) <= SIZE_MAX / 2, "planned memory %u has %lld bytes", i,
             static_cast<long long>(sizes[i]));
  }
  return Error::Ok;
}

Error PlanValidator::check_tensor_shape(uint32_t index, const schema::Tensor& tensor, size_t* nbytes) {
  RL_TRY(spend(tensor.sizes().size()));
  const char* fault = check_shape(static_cast<ScalarType>(tensor.scalar_type()), span_of(tensor.sizes()),
                                  span_of(tensor.dim_order()), nbytes);
  VALIDATE_VALUE(!fault, "is an invalid tensor: %s", fault);
  VALIDATE_VALUE(tensor.storage_offset() == 0, "is a tensor with storage offset %d; only 0 is supported",
                 tensor.storage_offset());
  VALIDATE_VALUE(tensor.layout() == 0, "is a tensor of layout %d; only strided ones (0) are supported",
                 tensor.layout());
  const int dynamism = static_cast<int>(tensor.shape_dynamism());
  VALIDATE_VALUE(dynamism >= 0 && dynamism <= 2, "is a tensor of unknown shape dynamism %d", dynamism);
  VALIDATE_VALUE(tensor.shape_dynamism() != schema::TensorShapeDynamism::DYNAMIC_UNBOUND || tensor.sizes().size() > 0,
                 "is an unbounded tensor without dimensions");
  return Error::Ok;
}

Error PlanValidator::check_planned(uint32_t index, const schema::Tensor& tensor, uint64_t nbytes) {
  const schema::AllocationDetails place = tensor.allocation_info();
  const auto sizes = plan_.non_const_buffer_sizes();
  const uint32_t memory = place.memory_id();
  VALIDATE_VALUE(memory > 0 && memory < sizes.size(),
                 "is planned into memory %u, but the method has the memories 1 to %d", memory,
                 static_cast<int>(sizes.size()) - 1);
  const uint64_t offset = uint64_t{place.memory_offset_high()} << 32 | place.memory_offset_low();
  const uint64_t capacity = static_cast<uint64_t>(sizes[memory]);
  VALIDATE_VALUE(offset <= capacity && nbytes <= capacity - offset,
                 "(%llu bytes at offset %llu) is outside of planned memory %u, which has %llu bytes",
                 static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(offset), memory,
                 static_cast<unsigned long long>(capacity));
  const size_t alignment = element_alignment(static_cast<ScalarType>(tensor.scalar_type()));
  VALIDATE_VALUE(offset % alignment == 0, "is planned at offset %llu, which is not aligned to its element of %zu bytes",
                 static_cast<unsigned long long>(offset), alignment);
  return Error::Ok;
}

Error PlanValidator::check_subsegment(uint32_t index, const schema::SubsegmentOffsets& table, uint32_t item,
                                      uint64_t nbytes, const char* what) {
  const auto offsets = table.offsets();
  VALIDATE_VALUE(item < offsets.size(), "refers to %s %u, but there are %u", what, item, offsets.size());
  const uint64_t size = program_.segments()[table.segment_index()].size();
  VALIDATE_VALUE(offsets[item] <= size && nbytes <= size - offsets[item],
                 "(%llu bytes) refers to %s %u at offset %llu of a segment, which has %llu bytes",
                 static_cast<unsigned long long>(nbytes), what, item, static_cast<unsigned long long>(offsets[item]),
                 static_cast<unsigned long long>(size));
  return Error::Ok;
}

Error PlanValidator::check_data(uint32_t index, const schema::Tensor& tensor, uint64_t nbytes) {
  const uint32_t item = tensor.data_buffer_idx();
  const schema::ExtraTensorInfo extra = tensor.extra_tensor_info();
  const bool is_planned = tensor.has_allocation_info();
  const int location = static_cast<int>(extra.location());
  VALIDATE_VALUE(location == 0 || location == 1, "is a tensor whose data are at unknown location %d", location);
  if (extra.location() == schema::TensorDataLocation::EXTERNAL) {
    VALIDATE_VALUE(!extra.fully_qualified_name().empty(), "is a tensor with external data, but without a name");
    VALIDATE_VALUE(tensor.shape_dynamism() == schema::TensorShapeDynamism::STATIC, "has data but no static shape");
    return Error::Ok;
  }
  if (item == 0) return Error::Ok;  // without planned memory, the caller or a view call provides the memory
  VALIDATE_VALUE(tensor.shape_dynamism() == schema::TensorShapeDynamism::STATIC, "has data but no static shape");
  if (is_planned) {
    const auto segments = program_.mutable_data_segments();
    const uint64_t segment = extra.mutable_data_segments_idx();
    VALIDATE_VALUE(segment < segments.size(), "has its initial value in mutable segment %llu, but there are %u",
                   static_cast<unsigned long long>(segment), segments.size());
    return check_subsegment(index, segments[segment], item, nbytes, "initial value");
  }
  if (!program_.constant_segment().offsets().empty()) {
    return check_subsegment(index, program_.constant_segment(), item, nbytes, "constant");
  }
  const auto buffers = program_.constant_buffer();
  VALIDATE_VALUE(item < buffers.size(), "refers to constant %u, but there are %u", item, buffers.size());
  VALIDATE_VALUE(nbytes <= buffers[item].storage().size(), "(%llu bytes) refers to constant %u, which has %u bytes",
                 static_cast<unsigned long long>(nbytes), item, buffers[item].storage().size());
  return Error::Ok;
}

Error PlanValidator::check_tensor(uint32_t index, const schema::Tensor& tensor) {
  size_t nbytes = 0;
  RL_TRY(check_tensor_shape(index, tensor, &nbytes));
  if (tensor.has_allocation_info()) RL_TRY(check_planned(index, tensor, nbytes));
  return check_data(index, tensor, nbytes);
}

template <typename Item>
Error PlanValidator::check_list(uint32_t index, Span<const Item> items, bool (PlanValidator::*accepts)(int64_t) const,
                                const char* what) {
  RL_TRY(spend(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    VALIDATE_VALUE((this->*accepts)(items[i]), "is a list whose item %zu, value %lld, is not %s", i,
                   static_cast<long long>(items[i]), what);
  }
  return Error::Ok;
}

Error PlanValidator::check_value(uint32_t index) {
  const schema::EValue value = values_[index];
  switch (value.val_type()) {
    case KernelTypes::Null:
    case KernelTypes::Int:
    case KernelTypes::Bool:
    case KernelTypes::Double:
    case KernelTypes::String:
      return Error::Ok;
    case KernelTypes::DoubleList:
      return spend(value.val_as_DoubleList().items().size());
    case KernelTypes::BoolList:
      return spend(value.val_as_BoolList().items().size());
    case KernelTypes::Tensor:
      return check_tensor(index, value.val_as_Tensor());
    case KernelTypes::IntList:
      return check_list(index, span_of(value.val_as_IntList().items()), &PlanValidator::is_integer, "an integer");
    case KernelTypes::TensorList:
      return check_list(index, span_of(value.val_as_TensorList().items()), &PlanValidator::is_tensor, "a tensor");
    case KernelTypes::OptionalTensorList:
      return check_list(index, span_of(value.val_as_OptionalTensorList().items()), &PlanValidator::is_optional_tensor,
                        "a tensor or none");
    case KernelTypes::NONE:
      break;
  }
  VALIDATE_VALUE(false, "has no type");
  return Error::Ok;
}

Error PlanValidator::check_inputs_outputs() {
  RL_TRY(spend(plan_.inputs().size()));
  RL_TRY(spend(plan_.outputs().size()));
  for (uint32_t i = 0; i < plan_.inputs().size(); ++i) {
    const int32_t value = plan_.inputs()[i];
    VALIDATE(is_value(value), "input %u is value %d, but there are %u", i, value, values_.size());
    const KernelTypes type = values_[value].val_type();
    VALIDATE(type <= KernelTypes::String, "input %u is a list", i);
    if (type != KernelTypes::Tensor) continue;
    const schema::Tensor tensor = values_[value].val_as_Tensor();
    const bool has_data =
        tensor.data_buffer_idx() != 0 || tensor.extra_tensor_info().location() == schema::TensorDataLocation::EXTERNAL;
    VALIDATE(!has_data || tensor.has_allocation_info(), "input %u is a constant", i);
  }
  for (uint32_t i = 0; i < plan_.outputs().size(); ++i) {
    const int32_t value = plan_.outputs()[i];
    VALIDATE(is_value(value), "output %u is value %d, but there are %u", i, value, values_.size());
  }
  return Error::Ok;
}

Error PlanValidator::check_operators() {
  const auto operators = plan_.operators();
  for (uint32_t i = 0; i < operators.size(); ++i) {
    const std::string_view name = operators[i].name();
    VALIDATE(!name.empty(), "operator %u has an empty name", i);
    VALIDATE(name.size() + operators[i].overload().size() <= kMaxOperatorName,
             "the name of operator %u (%.40s...) is longer than %zu characters", i, name.data(), kMaxOperatorName);
  }
  return spend(operators.size());
}

Error PlanValidator::check_delegates() {
  const auto delegates = plan_.delegates();
  for (uint32_t i = 0; i < delegates.size(); ++i) {
    const schema::BackendDelegate delegate = delegates[i];
    VALIDATE(!delegate.id().empty(), "delegate %u has no backend", i);
    const schema::BackendDelegateDataReference data = delegate.processed();
    const int location = static_cast<int>(data.location());
    VALIDATE(location == 0 || location == 1, "the data of delegate %u (%.80s) are at unknown location %d", i,
             delegate.id().data(), location);
    const uint32_t count = data.location() == schema::DataLocation::SEGMENT ? program_.segments().size()
                                                                            : program_.backend_delegate_data().size();
    VALIDATE(data.index() < count, "the data of delegate %u (%.80s) are item %u, but there are %u", i,
             delegate.id().data(), data.index(), count);
    RL_TRY(spend(1 + uint64_t{delegate.compile_specs().size()}));
  }
  return Error::Ok;
}

Error PlanValidator::check_kernel_call(uint32_t chain, uint32_t index, const schema::KernelCall& call) {
  const int32_t op = call.op_index();
  VALIDATE_INSTRUCTION(op >= 0 && static_cast<uint32_t>(op) < plan_.operators().size(),
                       "calls operator %d, but there are %u", op, plan_.operators().size());
  RL_TRY(spend(call.args().size()));
  for (uint32_t i = 0; i < call.args().size(); ++i) {
    VALIDATE_INSTRUCTION(is_value(call.args()[i]), "(%.80s) uses value %d as argument %u, but there are %u",
                         plan_.operators()[op].name().data(), call.args()[i], i, values_.size());
  }
  return Error::Ok;
}

Error PlanValidator::check_delegate_call(uint32_t chain, uint32_t index, const schema::DelegateCall& call) {
  const int32_t delegate = call.delegate_index();
  VALIDATE_INSTRUCTION(delegate >= 0 && static_cast<uint32_t>(delegate) < plan_.delegates().size(),
                       "calls delegate %d, but there are %u", delegate, plan_.delegates().size());
  RL_TRY(spend(call.args().size()));
  for (uint32_t i = 0; i < call.args().size(); ++i) {
    VALIDATE_INSTRUCTION(is_value(call.args()[i]), "(delegate %.80s) uses value %d as argument %u, but there are %u",
                         plan_.delegates()[delegate].id().data(), call.args()[i], i, values_.size());
  }
  return Error::Ok;
}

Error PlanValidator::check_move(uint32_t chain, uint32_t index, const schema::MoveCall& call) {
  VALIDATE_INSTRUCTION(is_value(call.move_from()) && is_value(call.move_to()),
                       "moves value %d to value %d, but there are %u", call.move_from(), call.move_to(),
                       values_.size());
  const schema::EValue from = values_[call.move_from()];
  const schema::EValue to = values_[call.move_to()];
  VALIDATE_INSTRUCTION(from.val_type() == to.val_type() || (is_integer(call.move_from()) && is_integer(call.move_to())),
                       "moves value %d to value %d, which is of another type", call.move_from(), call.move_to());
  VALIDATE_INSTRUCTION(from.val_type() != KernelTypes::TensorList && from.val_type() != KernelTypes::OptionalTensorList,
                       "moves value %d, which is a list of tensors", call.move_from());
  VALIDATE_INSTRUCTION(
      from.val_type() != KernelTypes::Tensor || from.val_as_Tensor().scalar_type() == to.val_as_Tensor().scalar_type(),
      "moves value %d to value %d, which is a tensor of another dtype", call.move_from(), call.move_to());
  return Error::Ok;
}

Error PlanValidator::check_jump(uint32_t chain, uint32_t index, const schema::JumpFalseCall& call,
                                uint32_t instructions) {
  VALIDATE_INSTRUCTION(is_value(call.cond_value_index()), "tests value %d, but there are %u", call.cond_value_index(),
                       values_.size());
  const schema::EValue condition = values_[call.cond_value_index()];
  const bool is_bool = condition.val_type() == KernelTypes::Bool ||
                       (condition.val_type() == KernelTypes::Tensor &&
                        condition.val_as_Tensor().scalar_type() == schema::ScalarType::BOOL);
  VALIDATE_INSTRUCTION(is_bool, "tests value %d, which is neither a Bool nor a bool tensor", call.cond_value_index());
  const int32_t destination = call.destination_instruction();
  VALIDATE_INSTRUCTION(destination >= 0 && static_cast<uint32_t>(destination) <= instructions,
                       "jumps to instruction %d, but there are %u", destination, instructions);
  return Error::Ok;
}

Error PlanValidator::check_chain(uint32_t chain) {
  const schema::Chain table = plan_.chains()[chain];
  for (const auto& ends : {table.inputs(), table.outputs()}) {
    RL_TRY(spend(ends.size()));
    for (const int32_t value : ends) {
      VALIDATE(is_value(value), "an input or output of chain %u is value %d, but there are %u", chain, value,
               values_.size());
    }
  }
  const auto instructions = table.instructions();
  RL_TRY(spend(instructions.size()));
  for (uint32_t index = 0; index < instructions.size(); ++index) {
    const schema::Instruction instruction = instructions[index];
    switch (instruction.instr_args_type()) {
      case InstructionArguments::KernelCall:
        RL_TRY(check_kernel_call(chain, index, instruction.instr_args_as_KernelCall()));
        break;
      case InstructionArguments::DelegateCall:
        RL_TRY(check_delegate_call(chain, index, instruction.instr_args_as_DelegateCall()));
        break;
      case InstructionArguments::MoveCall:
        RL_TRY(check_move(chain, index, instruction.instr_args_as_MoveCall()));
        break;
      case InstructionArguments::JumpFalseCall:
        RL_TRY(check_jump(chain, index, instruction.instr_args_as_JumpFalseCall(), instructions.size()));
        break;
      case InstructionArguments::FreeCall:
        VALIDATE_INSTRUCTION(is_value(instruction.instr_args_as_FreeCall().value_index()),
                             "frees value %d, but there are %u", instruction.instr_args_as_FreeCall().value_index(),
                             values_.size());
        break;
      case InstructionArguments::NONE:
        VALIDATE_INSTRUCTION(false, "has no type");
    }
  }
  return Error::Ok;
}

Error PlanValidator::check() {
  RL_TRY(spend(values_.size()));
  RL_TRY(check_memories());
  RL_TRY(check_inputs_outputs());
  for (uint32_t i = 0; i < values_.size(); ++i) RL_TRY(check_value(i));
  RL_TRY(check_operators());
  RL_TRY(check_delegates());
  RL_TRY(spend(plan_.chains().size()));
  for (uint32_t i = 0; i < plan_.chains().size(); ++i) RL_TRY(check_chain(i));
  return Error::Ok;
}

}  // namespace rushlight
