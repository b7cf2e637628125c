#include "stack_backend.h"

#include <cstring>
#include <new>

namespace {

using namespace rushlight;

struct Instruction {
  uint32_t operation, a, b, result;
};

// One delegate: everything in the method's allocator, so that there is nothing to free.
struct Machine {
  uint32_t num_registers;
  uint32_t num_instructions;
  Instruction* instructions;
  float** registers;
};

class StackBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               Span<const CompileSpec>) override {
    const auto* bytes = static_cast<const uint8_t*>(processed->data());
    const size_t size = processed->size();
    RL_REQUIRE(size >= 12 && std::memcmp(bytes, "STAK", 4) == 0, InvalidProgram, "this is no payload of StackBackend");
    auto* machine = context.allocator->allocate_array<Machine>(1);
    RL_REQUIRE(machine != nullptr, MemoryAllocationFailed, "no memory for a machine");
    std::memcpy(&machine->num_registers, bytes + 4, 4);
    std::memcpy(&machine->num_instructions, bytes + 8, 4);
    RL_REQUIRE((size - 12) / sizeof(Instruction) == machine->num_instructions, InvalidProgram,
               "%u instructions do not fit %zu bytes", machine->num_instructions, size);
    RL_REQUIRE(machine->num_registers <= 3 * uint64_t{machine->num_instructions}, InvalidProgram, "%u registers",
               machine->num_registers);
    machine->instructions = context.allocator->allocate_array<Instruction>(machine->num_instructions);
    machine->registers = context.allocator->allocate_array<float*>(machine->num_registers);
    RL_REQUIRE(machine->instructions && machine->registers, MemoryAllocationFailed, "no memory for a machine");
    std::memcpy(machine->instructions, bytes + 12, machine->num_instructions * sizeof(Instruction));
    for (uint32_t i = 0; i < machine->num_instructions; ++i) {
      const Instruction& step = machine->instructions[i];
      RL_REQUIRE(step.operation <= 2 && step.a < machine->num_registers && step.b < machine->num_registers &&
                     step.result < machine->num_registers,
                 InvalidProgram, "instruction %u names what is not there", i);
    }
    processed->release();  // all is copied
    return static_cast<DelegateHandle*>(machine);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue* const> arguments) override {
    const Machine& machine = *static_cast<Machine*>(handle);
    RL_REQUIRE(arguments.size() >= 1 && arguments.size() <= machine.num_registers, InvalidArgument, "%zu arguments",
               arguments.size());
    int64_t count = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      RL_REQUIRE(arguments[i]->is_tensor(), InvalidArgument, "argument %zu is no tensor", i);
      const Tensor tensor = arguments[i]->to_tensor();
      count = i == 0 ? tensor.numel() : count;
      RL_REQUIRE(tensor.scalar_type() == ScalarType::Float && tensor.numel() == count, InvalidArgument,
                 "argument %zu is not like the first", i);
      machine.registers[i] = tensor.mutable_data_ptr<float>();
    }
    for (size_t i = arguments.size(); i < machine.num_registers; ++i) {
      machine.registers[i] =
          context.temporary ? context.temporary->allocate_array<float>(static_cast<size_t>(count)) : nullptr;
      RL_REQUIRE(machine.registers[i], MemoryAllocationFailed, "no scratch memory for register %zu", i);
    }
    for (uint32_t i = 0; i < machine.num_instructions; ++i) {
      const Instruction& step = machine.instructions[i];
      const float *a = machine.registers[step.a], *b = machine.registers[step.b];
      float* result = machine.registers[step.result];
      for (int64_t j = 0; j < count; ++j) {
        result[j] = step.operation == 0 ? a[j] + b[j] : step.operation == 1 ? a[j] - b[j] : a[j] * b[j];
      }
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle*) override {}
};

}  // namespace

rushlight::Backend stack_backend() {
  static StackBackend backend;
  return {"StackBackend", &backend};
}
