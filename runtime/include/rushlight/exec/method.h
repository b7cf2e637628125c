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

// The options of one backend for a method.
struct BackendOptions {
  std::string_view backend;
  Span<const BackendOption> options;
};

// The planned memories that several methods of a program share. These memories and their contents outlive each method.
// An implementation must allow calls from several threads at the same time.
class SharedState {
 public:
  // Returns whether the tensor at byte `offset` of planned memory `memory` (from 0) already has a value, because
  // another method was loaded before. If not, the caller writes the initial value of a tensor in shared memory, and
  // later calls return true.
  virtual bool holds(size_t memory, size_t offset) = 0;
  // Returns whether methods share planned memory `memory`. Such memory starts as zeros.
  virtual bool shares(size_t memory) const = 0;

 protected:
  ~SharedState() = default;
};

// The sizes that a dimension of an input may have. `high` is -1 if there is no upper bound.
struct SizeRange {
  int64_t low;
  int64_t high;
};

// Reads the bounds of an input's sizes from the program, without loading the method. `ranges` has one element for each
// dimension; elements without bounds in the program keep their values.
Error read_input_ranges(const Program& program, std::string_view method, size_t input, Span<SizeRange> ranges);

// The limits of a method. A program with an endless loop or with very large tensors exceeds them and returns the error
// OutOfResources.
struct Limits {
  uint64_t instructions = uint64_t{1} << 30;  // of one execution; a call of a delegate is one instruction
  size_t memory = SIZE_MAX;  // bytes of a LoadedMethod: planned memories, structures, workspaces, scratch and outputs
};

// The kernels, backends and services of a method. Tables and pointers must outlive the method. The spans themselves are
// read only during Method::load(), but the objects to which their elements point must outlive the method.
struct Environment {
  Span<const KernelTable> kernels;  // searched in this order
  BackendTable backends;
  ThreadPool* threads = nullptr;       // null: one thread
  EventTracer* tracer = nullptr;       // null: no events
  const NamedDataMap* data = nullptr;  // data outside of the program
  Span<const BackendOptions> backend_options;
  SharedState* state = nullptr;  // null: each method has its own state
  Limits limits;
};

// The instruction that failed, and the operator inside a delegate if the backend reported it.
struct ExecutionFailure {
  int32_t chain = -1;
  int32_t instruction = -1;
  DelegateOperator delegate_operator;
};

// A method that can be executed. Several methods of one program may run at the same time; one method is used by one
// thread at a time.
class Method final {
 public:
  // Loads the method `name`. `program` and the memories must outlive the method, and no other method may use the
  // allocators until the method is destroyed.
  //
  // Errors: NotFound if the method, a backend or external data do not exist; OperatorMissing if kernels do not exist
  // (the message names all of them); InvalidProgram if the arguments of an instruction do not fit its kernel;
  // NotSupported if a kernel does not support a dtype; MemoryAllocationFailed if a memory is too small.
  static Result<Method> load(const Program& program, std::string_view name, const MemoryManager& memory,
                             const Environment& environment);

  Method(Method&& other) noexcept;
  Method& operator=(Method&& other) noexcept;
  ~Method();

  // Returns the description of the method in the program.
  MethodMeta meta() const;

  // Returns the number of inputs and of outputs.
  size_t inputs_size() const;
  size_t outputs_size() const;
  // Returns an input or output. `index` must be below inputs_size() or outputs_size(). Outputs are valid after
  // execute() until the next execute().
  const EValue& get_input(size_t index) const;
  const EValue& get_output(size_t index) const;

  // Sets an input, or all inputs.
  //
  // The dtype, dim order, rank and each size of a tensor are checked. If memory is planned for the input, the elements
  // are copied; otherwise the method reads them in place, and they must stay valid until execute() returns. Other
  // values must have the type of the input. If the input is a constant of the program, the value must be equal to this
  // constant. The characters of a string are not copied. Errors: InvalidArgument, InvalidType.
  Error set_input(size_t index, const EValue& value);
  Error set_inputs(Span<const EValue> values);

  // Sets the memory of an output tensor without planned memory: `size` bytes at `data`, which the caller owns.
  Error set_output_data_ptr(size_t index, void* data, size_t size);
  // Returns whether no memory is planned for an input or output tensor, so that the caller must provide it.
  bool input_needs_memory(size_t index) const;
  bool output_needs_memory(size_t index) const;

  // Returns the tensor with this fully qualified name, such as a mutable buffer. Errors: NotFound; InvalidState if the
  // tensor has no memory, as an input that has not been set. The elements of a constant must not be written.
  Result<Tensor> get_attribute(std::string_view name) const;

  // Sets mutable buffers back to their contents after loading: their initial values, or zeros. The parameters of a
  // program for training count as buffers. Buffers that several methods share change for all of these methods. Inputs
  // and outputs with planned memory lose their elements, and step() begins at the first instruction. Returns an error
  // if the program or a data file cannot be read.
  Error reset_state();

  // Runs all instructions from the beginning. Output tensors are valid until the next execute(). Returns the error of
  // the instruction that failed, OutOfResources at a limit, or Cancelled.
  Error execute();

  // Stops a call of execute() that runs on another thread, before its next instruction. The call then returns
  // Cancelled. A call that has not started yet is not affected. The method can be executed again. Any thread, and a
  // signal handler, may call this function.
  void cancel();

  // Returns the instruction at which the last execute() or step() failed. Its chain is -1 if there was no error, or if
  // the error occurred before the first instruction. The result is valid until the next execute() or step().
  const ExecutionFailure& failure() const;

  // Runs one instruction, or returns EndOfMethod after the last one. reset_execution() returns to the first; so does an
  // error of an instruction.
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
