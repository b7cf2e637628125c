#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/backend.h"
#include "rushlight/core/data_loader.h"
#include "rushlight/core/evalue.h"
#include "rushlight/program/method_meta.h"
#include "rushlight/program/program.h"

namespace rushlight {

// The source of a tensor's elements.
enum class TensorSource : uint8_t {
  Caller,           // an input or output, or a tensor without memory yet
  Planned,          // planned memory
  PlannedInitial,   // planned memory with an initial value in the file
  PlannedExternal,  // planned memory with an initial value in another file
  Constant,         // in the file
  External,         // in another file
};

struct TensorView {
  ScalarType dtype;
  ShapeDynamism dynamism;
  TensorSource source;
  int8_t device;  // its type; 0 is the CPU
  Span<const SizesType> sizes;
  Span<const DimOrderType> dim_order;
  int64_t numel;          // of `sizes`
  size_t nbytes;          // of `sizes`
  uint32_t memory;        // planned: index of the memory, from 0
  size_t offset;          // planned: bytes from the start of the memory
  uint32_t data;          // Constant, PlannedInitial: index of the data
  uint32_t data_segment;  // PlannedInitial: index into the program's mutable segments
  std::string_view name;  // fully qualified, or ""

  bool is_planned() const {
    return source == TensorSource::Planned || source == TensorSource::PlannedInitial ||
           source == TensorSource::PlannedExternal;
  }
};

enum class InstructionKind : uint8_t { Kernel, Delegate, Move, JumpFalse, Free };

struct InstructionView {
  InstructionKind kind;
  uint32_t first;            // operator, delegate, source of a move, condition, or value to free
  uint32_t second;           // destination of a move, or of a jump
  Span<const int32_t> args;  // value indices
};

// A line of the user's Python code. The file is empty if the line is unknown.
struct SourceLine {
  std::string_view file;
  int32_t line = 0;
};

// A validated method of a program, as plain values. An `index` argument must be below the corresponding count.
class PlanView {
 public:
  PlanView(const Program* program, uint32_t index) : program_(program), index_(index) {}

  const Program& program() const { return *program_; }
  MethodMeta meta() const { return MethodMeta(program_->root_, index_); }
  std::string_view name() const;  // ends with NUL

  size_t num_values() const;
  Tag tag(size_t index) const;
  // Each of these functions may be called only if the value has the corresponding tag.
  TensorView tensor(size_t index) const;
  int64_t int_value(size_t index) const;
  double double_value(size_t index) const;
  bool bool_value(size_t index) const;
  std::string_view string_value(size_t index) const;
  Span<const double> double_list(size_t index) const;
  Span<const bool> bool_list(size_t index) const;
  Span<const int64_t> int_list(size_t index) const;     // value indices
  Span<const int32_t> tensor_list(size_t index) const;  // value indices, also of an OptionalTensorList; -1: none

  Span<const int32_t> inputs() const;   // value indices
  Span<const int32_t> outputs() const;  // value indices

  size_t num_planned_memories() const;
  size_t planned_memory_size(size_t index) const;

  // Returns 0 if all planned memories are on the CPU, else another number.
  int memory_devices() const;

  size_t num_operators() const;
  OperatorName operator_name(size_t index) const;

  size_t num_delegates() const;
  std::string_view delegate_id(size_t index) const;
  size_t num_compile_specs(size_t delegate) const;
  CompileSpec compile_spec(size_t delegate, size_t index) const;
  Result<FreeableBuffer> load_delegate_data(size_t delegate) const;

  size_t num_chains() const;
  size_t num_instructions(size_t chain) const;
  InstructionView instruction(size_t chain, size_t index) const;
  // Returns the innermost line outside of torch that created the instruction, if the program has stack traces.
  SourceLine source_line(size_t chain, size_t index) const;

  // Returns the elements of a Constant tensor, which are valid as long as the program.
  Result<const void*> constant(const TensorView& tensor) const;
  // Reads the initial value of a PlannedInitial tensor into `buffer`.
  Error load_initial_value(const TensorView& tensor, void* buffer) const;

 private:
  const Program* program_;
  uint32_t index_;
};

}  // namespace rushlight
