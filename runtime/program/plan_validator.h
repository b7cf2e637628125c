#pragma once

#include <cstdint>

#include "program/schema_generated.h"
#include "rushlight/core/error.h"
#include "rushlight/core/span.h"

namespace rushlight {

// Checks the tables of one method: indices, types, sizes and memory ranges.
class PlanValidator {
 public:
  // `budget` is the number of items that may still be examined. The methods of a program share it.
  PlanValidator(const schema::Program& program, const schema::ExecutionPlan& plan, uint64_t* budget)
      : program_(program), plan_(plan), values_(plan.values()), name_(plan.name().data()), budget_(budget) {}
  Error check();

 private:
  Error spend(uint64_t items);
  Error check_memories();
  Error check_value(uint32_t index);
  Error check_tensor(uint32_t index, const schema::Tensor& tensor);
  Error check_tensor_shape(uint32_t index, const schema::Tensor& tensor, size_t* nbytes);
  Error check_planned(uint32_t index, const schema::Tensor& tensor, uint64_t nbytes);
  Error check_data(uint32_t index, const schema::Tensor& tensor, uint64_t nbytes);
  Error check_subsegment(uint32_t index, const schema::SubsegmentOffsets& table, uint32_t item, uint64_t nbytes,
                         const char* what);
  template <typename Item>
  Error check_list(uint32_t index, Span<const Item> items, bool (PlanValidator::*accepts)(int64_t) const,
                   const char* what);
  Error check_inputs_outputs();
  Error check_operators();
  Error check_delegates();
  Error check_chain(uint32_t index);
  Error check_kernel_call(uint32_t chain, uint32_t index, const schema::KernelCall& call);
  Error check_delegate_call(uint32_t chain, uint32_t index, const schema::DelegateCall& call);
  Error check_move(uint32_t chain, uint32_t index, const schema::MoveCall& call);
  Error check_jump(uint32_t chain, uint32_t index, const schema::JumpFalseCall& call, uint32_t instructions);

  bool is_value(int64_t index) const { return index >= 0 && index < values_.size(); }
  bool is_integer(int64_t index) const;
  bool is_tensor(int64_t index) const;
  bool is_optional_tensor(int64_t index) const;
  bool has(const flatbuffer::Vector<int32_t>& ends, int64_t index) const;

  const schema::Program program_;
  const schema::ExecutionPlan plan_;
  const flatbuffer::Vector<schema::EValue> values_;
  const char* name_;
  uint64_t* budget_;
  mutable uint64_t scans_ = uint64_t{1} << 28;  // remaining comparisons of has(), which then returns false
};

}  // namespace rushlight
