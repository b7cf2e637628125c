#include "stack_backend.h"

#include <cmath>
#include <cstring>
#include <new>

#include "rushlight/core/library.h"

namespace {

using namespace rushlight;

enum Operation : uint32_t { kAdd, kSubtract, kMultiply, kCopy, kNumOperations };

struct Header {
  char magic[4];
  uint32_t inputs, outputs, constants, states, temporaries;
  uint32_t instructions;
};

struct Instruction {
  uint32_t operation, a, b, result;  // indices of registers
};

// The key of the named data of a constant, or of the initial value of a state.
struct Key {
  char digits[64];
};

// One delegate. It is in the memory of the method.
struct Delegate {
  Header header;
  bool check_finite;
  const Instruction* instructions;
  const uint32_t* counts;  // number of elements of each register
  float** registers;       // inputs, outputs, constants, states, temporaries
  FreeableBuffer* constants;
  uint32_t num_constants;  // constants that are already loaded
};

float apply(uint32_t operation, float a, float b) {
  switch (operation) {
    case kAdd:
      return a + b;
    case kSubtract:
      return a - b;
    case kMultiply:
      return a * b;
    default:
      return a;
  }
}

class StackBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               Span<const CompileSpec>) override {
    bool check_finite = check_finite_;
    for (const BackendOption& option : context.options) RL_TRY(take(option, &check_finite));
    auto* delegate = context.allocator->allocate_array<Delegate>(1);
    RL_REQUIRE(delegate, MemoryAllocationFailed, "no memory for the structures of a delegate");
    new (delegate) Delegate{};
    delegate->check_finite = check_finite;
    const Error error = read(context, *processed, delegate);
    if (error != Error::Ok) {
      destroy(delegate);
      return error;
    }
    processed->Free();  // the delegate has a copy
    return static_cast<DelegateHandle*>(delegate);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue* const> arguments) override {
    const Delegate& delegate = *static_cast<Delegate*>(handle);
    const Header& header = delegate.header;
    const size_t num_arguments = size_t{header.inputs} + header.outputs;
    RL_REQUIRE(arguments.size() == num_arguments, InvalidArgument, "the delegate got %zu arguments, not %zu",
               arguments.size(), num_arguments);
    float** registers = delegate.registers;
    for (size_t i = 0; i < num_arguments; ++i) {
      RL_REQUIRE(arguments[i]->is_tensor(), InvalidArgument, "argument %zu is not a tensor", i);
      const Tensor tensor = arguments[i]->to_tensor();
      RL_REQUIRE(tensor.scalar_type() == ScalarType::Float && tensor.numel() == int64_t{delegate.counts[i]},
                 InvalidArgument, "argument %zu is not a float32 tensor with %u elements", i, delegate.counts[i]);
      registers[i] = tensor.mutable_data_ptr<float>();
    }
    const size_t first_temporary = num_arguments + header.constants + header.states;
    for (size_t i = first_temporary; i < first_temporary + header.temporaries; ++i) {
      registers[i] = context.temporary ? context.temporary->allocate_array<float>(delegate.counts[i]) : nullptr;
      RL_REQUIRE(registers[i], MemoryAllocationFailed, "no scratch memory for %u elements", delegate.counts[i]);
    }
    for (uint32_t i = 0; i < header.instructions; ++i) {
      const Instruction& step = delegate.instructions[i];
      const float *a = registers[step.a], *b = registers[step.b];
      float* result = registers[step.result];
      for (uint32_t j = 0; j < delegate.counts[step.result]; ++j) {
        result[j] = apply(step.operation, a[j], b[j]);
        if (delegate.check_finite && !std::isfinite(result[j])) {
          context.failed.number = i;  // the identifier in the debug handle map
          return fail(Error::InvalidArgument, "element %u of the result is %g, which is not finite", j,
                      static_cast<double>(result[j]));
        }
      }
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle* handle) override {
    auto* delegate = static_cast<Delegate*>(handle);
    for (uint32_t i = delegate->num_constants; i-- > 0;) delegate->constants[i].~FreeableBuffer();
  }

  Error set_option(const BackendOption& option) override { return take(option, &check_finite_); }

  Result<EValue> get_option(std::string_view key) const override {
    if (key == "check_finite") return EValue(check_finite_);
    return BackendInterface::get_option(key);
  }

 private:
  static Error take(const BackendOption& option, bool* check_finite) {
    RL_REQUIRE(option.key == "check_finite" && option.value.tag == Tag::Bool, NotSupported,
               "the only option of StackBackend is check_finite, a bool; the given option is '%.*s'",
               static_cast<int>(option.key.size()), option.key.data());
    *check_finite = option.value.to_bool();
    return Error::Ok;
  }

  // The payload is not trusted: this function checks every size and index.
  static Error read(const BackendInitContext& context, const FreeableBuffer& processed, Delegate* delegate) {
    const auto* bytes = static_cast<const uint8_t*>(processed.data());
    Header& header = delegate->header;
    RL_REQUIRE(processed.size() >= sizeof(Header) && std::memcmp(bytes, "STAK", 4) == 0, InvalidProgram,
               "this is not a payload of StackBackend");
    std::memcpy(&header, bytes, sizeof(Header));
    const uint64_t num_keys = uint64_t{header.constants} + header.states;
    const uint64_t num_registers = uint64_t{header.inputs} + header.outputs + num_keys + header.temporaries;
    RL_REQUIRE(sizeof(Header) + num_registers * sizeof(uint32_t) + header.instructions * uint64_t{sizeof(Instruction)} +
                       num_keys * sizeof(Key) ==
                   processed.size(),
               InvalidProgram, "a payload with %llu registers and %u instructions cannot have %zu bytes",
               static_cast<unsigned long long>(num_registers), header.instructions, processed.size());

    auto* counts = context.allocator->allocate_array<uint32_t>(static_cast<size_t>(num_registers));
    auto* instructions = context.allocator->allocate_array<Instruction>(header.instructions);
    delegate->counts = counts;
    delegate->instructions = instructions;
    delegate->registers = context.allocator->allocate_array<float*>(static_cast<size_t>(num_registers));
    delegate->constants = context.allocator->allocate_array<FreeableBuffer>(header.constants);
    RL_REQUIRE(counts && instructions && delegate->registers && delegate->constants, MemoryAllocationFailed,
               "no memory for %u instructions", header.instructions);
    bytes += sizeof(Header);
    std::memcpy(counts, bytes, static_cast<size_t>(num_registers) * sizeof(uint32_t));
    bytes += num_registers * sizeof(uint32_t);
    std::memcpy(instructions, bytes, header.instructions * sizeof(Instruction));
    bytes += header.instructions * sizeof(Instruction);  // the keys follow
    const uint64_t first_constant = uint64_t{header.inputs} + header.outputs;
    const uint64_t first_state = first_constant + header.constants;
    for (uint32_t i = 0; i < header.instructions; ++i) {
      const Instruction& step = instructions[i];
      const bool is_writable = step.result >= header.inputs && step.result < num_registers &&
                               (step.result < first_constant || step.result >= first_state);
      RL_REQUIRE(step.operation < kNumOperations && step.a < num_registers && step.b < num_registers && is_writable,
                 InvalidProgram, "instruction %u has an unknown operation or register", i);
      RL_REQUIRE(counts[step.a] == counts[step.result] && counts[step.b] == counts[step.result], InvalidProgram,
                 "the tensors of instruction %u have different sizes", i);
    }

    for (uint32_t i = 0; i < num_keys; ++i) {
      Key key;
      std::memcpy(&key, bytes + i * sizeof(Key), sizeof(Key));
      const std::string_view name(key.digits, sizeof(Key));
      const size_t size = counts[first_constant + i] * sizeof(float);
      float*& place = delegate->registers[first_constant + i];
      if (i < header.constants) {  // used without a copy
        RL_ASSIGN(FreeableBuffer data, context.named_data->data(name));
        RL_REQUIRE(data.size() == size && reinterpret_cast<uintptr_t>(data.data()) % alignof(float) == 0,
                   InvalidProgram, "constant %u has %zu bytes, not %zu, or is not aligned", i, data.size(), size);
        place = const_cast<float*>(static_cast<const float*>(data.data()));  // is_writable() prevents writes
        new (&delegate->constants[delegate->num_constants++]) FreeableBuffer(std::move(data));
      } else {  // a copy, which the delegate changes
        place = context.allocator->allocate_array<float>(counts[first_constant + i]);
        RL_REQUIRE(place, MemoryAllocationFailed, "no memory for a state of %zu bytes", size);
        RL_TRY(context.named_data->load_into(name, place, size));
      }
    }
    return Error::Ok;
  }

  bool check_finite_ = false;
};

StackBackend backend;
constexpr Backend kRows[] = {{"StackBackend", &backend}};

}  // namespace

BackendTable stack_backends() { return kRows; }

RUSHLIGHT_BACKEND_LIBRARY("stack", kRows);
