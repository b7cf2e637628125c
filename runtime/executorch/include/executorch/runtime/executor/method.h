#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "executorch/runtime/core/evalue.h"
#include "executorch/runtime/core/event_tracer.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "executorch/runtime/executor/memory_manager.h"
#include "executorch/runtime/executor/method_meta.h"

namespace rushlight {
class LoadedMethod;
class Method;
}  // namespace rushlight

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

class Program;

// A method that can be executed: rushlight::Method with the interface of ExecuTorch's class.
class Method final {
 public:
  Method(Method&& other) noexcept;
  Method& operator=(Method&&) = delete;
  ~Method();

  // Set one input or all inputs for all following executions; see rushlight::LoadedMethod::set_inputs(). The values may
  // be outputs of the last execution.
  ET_NODISCARD Error set_input(const EValue& input_evalue, size_t input_idx);
  ET_NODISCARD Error set_inputs(const aten::ArrayRef<EValue>& input_evalues);
  // Sets the memory of an output tensor without planned memory: `size` bytes, which the caller owns.
  ET_NODISCARD Error set_output_data_ptr(void* buffer, size_t size, size_t output_idx);
  // Copy the values of the outputs or inputs; the remaining elements become None.
  ET_NODISCARD Error get_outputs(EValue* output_evalues, size_t length);
  ET_NODISCARD Error get_inputs(EValue* input_evalues, size_t length);
  // Returns the tensor with this fully qualified name, such as a mutable buffer, or NotFound.
  ET_NODISCARD Result<aten::Tensor> get_attribute(std::string_view name);

  // Runs all instructions from the beginning.
  ET_NODISCARD Error execute();
  // Runs one instruction, or returns EndOfMethod after the last one.
  ET_NODISCARD Error step();
  ET_NODISCARD Error experimental_step() { return step(); }
  // Returns whether step() was called since the beginning of the method.
  ET_NODISCARD bool in_progress() const { return in_progress_; }
  // Lets step() begin again at the first instruction. Returns InvalidState if the last instruction was not run yet.
  ET_NODISCARD Error reset_execution();
  ET_NODISCARD Error experimental_reset_execution() { return reset_execution(); }

  MethodMeta method_meta() const;
  size_t inputs_size() const;
  size_t outputs_size() const;
  const EValue& get_input(size_t i) const;
  const EValue& get_output(size_t i) const;
  EValue& mutable_input(size_t i);
  EValue& mutable_output(size_t i);
  EventTracer* get_event_tracer() { return event_tracer_; }

  ::rushlight::LoadedMethod& native();

 private:
  friend class Program;
  struct Services;
  Method(std::unique_ptr<Services> services, EventTracer* event_tracer);
  ::rushlight::Method& inner() const;
  std::unique_ptr<Services> services_;
  EventTracer* event_tracer_;
  bool in_progress_ = false;
  bool at_end_ = false;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Method;
}  // namespace executor
}  // namespace torch
