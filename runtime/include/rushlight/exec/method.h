#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/backend.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/event_tracer.h"
#include "rushlight/core/kernel.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"
#include "rushlight/core/thread_pool.h"
#include "rushlight/program/program.h"

namespace rushlight {

struct MethodState;

// Options given to one backend when its delegates are initialised.
struct BackendOptions {
  std::string_view backend;
  Span<const BackendOption> options;
};

// Planned memories that methods of one program share outlive each of them, and with them the state that lies there.
class SharedState {
 public:
  // Whether the tensor at `offset` of planned memory `memory` (from 0) has its value from a method loaded before. If
  // not, and the memory is shared, the caller writes the initial value and later calls give true.
  virtual bool holds(size_t memory, size_t offset) = 0;
  // Whether methods share planned memory `memory`; it starts as zeros.
  virtual bool shares(size_t memory) const = 0;

 protected:
  ~SharedState() = default;
};

// The sizes that a dim of an input may have; `high` is -1 where nothing bounds them.
struct SizeRange {
  int64_t low;
  int64_t high;
};

// Writes what the program says of the sizes of a method's input into `ranges`, an element for each dim. Those of which
// it says nothing stay as they are. The method need not be loaded.
Error read_input_ranges(const Program& program, std::string_view method, size_t input, Span<SizeRange> ranges);

// What a method runs on. Tables and pointers outlive the method; spans are read during Method::load only, but for
// what their elements point to.
struct Environment {
  Span<const KernelTable> kernels;  // searched in this order
  BackendTable backends;
  ThreadPool* threads = nullptr;
  EventTracer* tracer = nullptr;
  const NamedDataMap* data = nullptr;  // data outside of the program
  Span<const BackendOptions> backend_options;
  SharedState* state = nullptr;  // null: each method has its own state
};

// The instruction at which an execution failed, and the operator inside its delegate if the backend named one.
struct ExecutionFailure {
  int32_t chain = -1;
  int32_t instruction = -1;
  DelegateOperator delegate_operator;
};

// An executable method. Different methods of one program may run at the same time; one method is used by one thread
// at a time.
class Method final {
 public:
  // Builds the method `name` in the memory handed in. `program` and the memory outlive the method; the allocators
  // are this method's alone until it is destroyed.
  // NotFound: no such method, or backends or external data are absent. OperatorMissing: kernels are absent (all of
  // them are named). InvalidProgram: an instruction's arguments do not suit its kernel. NotSupported: a kernel does not
  // take the dtype. MemoryAllocationFailed: memory is too small.
  static Result<Method> load(const Program& program, std::string_view name, const MemoryManager& memory,
                             const Environment& environment);

  Method(Method&& other) noexcept;
  Method& operator=(Method&& other) noexcept;
  ~Method();

  MethodMeta meta() const;

  size_t inputs_size() const;
  size_t outputs_size() const;
  // `index` below inputs_size(), outputs_size().
  const EValue& get_input(size_t index) const;
  const EValue& get_output(size_t index) const;

  // Tensors: dtype, dim order, rank and each size are checked. The data is copied if the plan has memory for the input,
  // else it is shared and must stay until execute() returns. Other values: the tag must be the method's, and a value
  // that the program was specialised for must be that value; a string's characters are shared.
  Error set_input(size_t index, const EValue& value);
  Error set_inputs(Span<const EValue> values);

  // Gives memory to an output tensor that the plan has none for.
  Error set_output_data_ptr(size_t index, void* data, size_t size);
  // Whether the caller must give memory to this input (output) tensor.
  bool input_needs_memory(size_t index) const;
  bool output_needs_memory(size_t index) const;

  // The tensor of that fully qualified name, such as a mutable buffer.
  Result<Tensor> get_attribute(std::string_view name) const;

  // Runs all instructions from the beginning. Output tensors are valid until the next execute().
  Error execute();

  // Where the last execute() or step() failed; chain -1 if it did not, or failed before the first instruction. Valid
  // until the next one.
  const ExecutionFailure& failure() const;

  // Runs one instruction; EndOfMethod if there is none left. reset_execution() goes back to the first.
  Error step();
  Error reset_execution();

 private:
  friend class MethodLoader;
  explicit Method(MethodState* state) : state_(state) {}
  Error set_tensor_input(size_t index, const Tensor& given);
  Error set_plain_input(size_t index, const EValue& given);
  Error check_memory_given() const;
  MethodState* state_;
};

}  // namespace rushlight
