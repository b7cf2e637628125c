#include "backends/cpu/plan.h"

#include <cstring>
#include <iterator>
#include <new>

#include "core/make_array.h"

namespace rushlight::cpu {

namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 42;  // of the arena or of one constant
constexpr uint64_t kMaxState = uint64_t{1} << 32;  // bytes of one state; loading a method writes all of them

Error check_expression(const schema::Plan& plan, uint32_t index) {
  const auto code = plan.expressions()[index].code();
  int64_t depth = 0;
  for (uint32_t i = 0; i < code.size(); ++i) {
    const int64_t op = code[i];
    if (op == kConstantCode || op == kSymbolCode) {
      RL_REQUIRE(++i < code.size(), InvalidProgram, "expression %u of the plan ends after a code without its operand",
                 index);
      RL_REQUIRE(op == kConstantCode || (code[i] >= 0 && code[i] < plan.symbols().size()), InvalidProgram,
                 "expression %u of the plan uses symbol %lld, but there are only %u symbols", index,
                 static_cast<long long>(code[i]), plan.symbols().size());
      ++depth;
    } else {
      RL_REQUIRE(op >= kFirstOperation && op < kFirstOperation + int64_t{std::size(kExpressionOps)} && depth >= 2,
                 InvalidProgram, "expression %u of the plan is invalid", index);
      --depth;
    }
    RL_REQUIRE(depth <= ExpressionStack::kDepth, InvalidProgram, "expression %u of the plan is nested too deeply",
               index);
  }
  RL_REQUIRE(depth == 1, InvalidProgram, "expression %u of the plan leaves %lld numbers on the stack instead of 1",
             index, static_cast<long long>(depth));
  return Error::Ok;
}

Error check_value(const schema::Plan& plan, uint32_t index) {
  const schema::Value value = plan.values()[index];
  const uint32_t expressions = plan.expressions().size();
  RL_REQUIRE(value.storage() < plan.storages().size() && value.offset() < expressions, InvalidProgram,
             "value %u of the plan refers to a missing storage or offset", index);
  RL_REQUIRE(value.sizes().size() <= kMaxRank && value.sizes().size() == value.strides().size(), InvalidProgram,
             "value %u of the plan has an unsupported rank: %u sizes and %u strides", index, value.sizes().size(),
             value.strides().size());
  for (uint32_t i = 0; i < value.sizes().size(); ++i) {
    RL_REQUIRE(value.sizes()[i] < expressions && value.strides()[i] < expressions, InvalidProgram,
               "dimension %u of value %u of the plan refers to a missing expression", i, index);
  }
  const ScalarType dtype = static_cast<ScalarType>(value.dtype());
  RL_REQUIRE(dtype == ScalarType::Float || dtype == ScalarType::Long || dtype == ScalarType::Int ||
                 dtype == ScalarType::Bool || dtype == ScalarType::Char || dtype == ScalarType::Byte ||
                 dtype == ScalarType::Half || dtype == ScalarType::BFloat16,
             InvalidProgram, "value %u of the plan has the unsupported dtype %d", index,
             static_cast<int>(value.dtype()));
  return Error::Ok;
}

Error check_symbol(const schema::Plan& plan, uint32_t index) {
  const schema::Symbol symbol = plan.symbols()[index];
  const bool has_place = symbol.argument() < plan.arguments().size() && symbol.axis() >= -1 && symbol.axis() < kMaxRank;
  const bool has_equation = symbol.factor() >= 1 && symbol.factor() <= INT32_MAX && symbol.shift() >= -INT32_MAX &&
                            symbol.shift() <= INT32_MAX;
  const bool has_bounds = symbol.lower() >= 0 && symbol.lower() <= symbol.upper() && symbol.upper() <= INT32_MAX;
  RL_REQUIRE(has_place && has_equation && has_bounds, InvalidProgram, "symbol %u of the plan is invalid", index);
  return Error::Ok;
}

Error check_storage(const schema::Plan& plan, uint32_t index) {
  const schema::Storage storage = plan.storages()[index];
  switch (storage.kind()) {
    case schema::StorageKind::ARENA:
      RL_REQUIRE(storage.bytes() <= plan.arena_bytes() && storage.offset() <= plan.arena_bytes() - storage.bytes() &&
                     storage.offset() % 16 == 0,
                 InvalidProgram, "storage %u of the plan extends beyond the arena or is not aligned", index);
      return Error::Ok;
    case schema::StorageKind::ARGUMENT: {
      const uint32_t argument = storage.index();
      RL_REQUIRE(argument < plan.arguments().size() && plan.arguments()[argument].value() < plan.values().size() &&
                     plan.values()[plan.arguments()[argument].value()].storage() == index,
                 InvalidProgram, "storage %u of the plan refers to a missing argument", index);
      return Error::Ok;
    }
    case schema::StorageKind::STATE:
      RL_REQUIRE(storage.bytes() <= kMaxState, InvalidProgram, "storage %u of the plan is too large", index);
      return Error::Ok;
    case schema::StorageKind::CONSTANT:
      RL_REQUIRE(storage.bytes() <= kMaxBytes, InvalidProgram, "storage %u of the plan is too large", index);
      return Error::Ok;
    default:
      return fail(Error::InvalidProgram, "storage %u of the plan has the unknown kind %d", index,
                  static_cast<int>(storage.kind()));
  }
}

// Checks that an argument has a value in a storage of its own. Only inputs may have no value.
Error check_argument(const schema::Plan& plan, uint32_t index) {
  const schema::Argument argument = plan.arguments()[index];
  if (argument.value() == kNone && !argument.is_output()) return Error::Ok;
  RL_REQUIRE(argument.value() < plan.values().size(), InvalidProgram, "argument %u of the plan has no value", index);
  const schema::Storage storage = plan.storages()[plan.values()[argument.value()].storage()];
  RL_REQUIRE(storage.kind() == schema::StorageKind::ARGUMENT && storage.index() == index, InvalidProgram,
             "argument %u of the plan refers to a value in another storage", index);
  return Error::Ok;
}

Error check(const schema::Plan& plan) {
  const uint32_t vector = plan.vector_floats(), panel = plan.panel_floats();
  RL_REQUIRE(vector >= 1 && vector <= 64 && panel >= vector && panel <= 256 && panel % vector == 0, InvalidProgram,
             "the plan has an invalid packing: vectors of %u and panels of %u columns", vector, panel);
  RL_REQUIRE(plan.arena_bytes() <= kMaxBytes, InvalidProgram, "the arena of the plan is too large");
  for (uint32_t i = 0; i < plan.symbols().size(); ++i) RL_TRY(check_symbol(plan, i));
  for (uint32_t i = 0; i < plan.expressions().size(); ++i) RL_TRY(check_expression(plan, i));
  for (uint32_t i = 0; i < plan.storages().size(); ++i) RL_TRY(check_storage(plan, i));
  for (uint32_t i = 0; i < plan.values().size(); ++i) RL_TRY(check_value(plan, i));
  for (uint32_t i = 0; i < plan.arguments().size(); ++i) RL_TRY(check_argument(plan, i));
  return Error::Ok;
}

// Loads the constants and the initial contents of states. A constant whose address is not a multiple of 8 is copied.
Error read_constants(const NamedDataMap* named_data, MemoryAllocator& allocator, Plan* plan) {
  const auto storages = plan->table.storages();
  FreeableBuffer* buffers = make_array<FreeableBuffer>(allocator, storages.size());
  RL_REQUIRE(buffers != nullptr, MemoryAllocationFailed, "no memory for %u constants", storages.size());
  plan->constants = {buffers, storages.size()};
  for (uint32_t i = 0; i < storages.size(); ++i) {
    const schema::Storage storage = storages[i];
    const bool is_state = storage.kind() == schema::StorageKind::STATE;
    if (storage.kind() != schema::StorageKind::CONSTANT && !(is_state && !storage.name().empty())) continue;
    RL_REQUIRE(named_data != nullptr, InvalidExternalData, "the program has no named data, but the plan needs '%.80s'",
               storage.name().data());
    RL_ASSIGN(buffers[i], named_data->data(storage.name()));
    RL_REQUIRE(buffers[i].size() >= storage.bytes() && buffers[i].data() != nullptr, InvalidExternalData,
               "constant '%.80s' has %zu bytes, but the plan needs %llu", storage.name().data(), buffers[i].size(),
               static_cast<unsigned long long>(storage.bytes()));
    if (is_state || reinterpret_cast<uintptr_t>(buffers[i].data()) % 8 == 0) continue;
    void* copy = allocator.allocate(static_cast<size_t>(storage.bytes()), 64);
    RL_REQUIRE(copy != nullptr, MemoryAllocationFailed, "no memory for constant '%.80s'", storage.name().data());
    std::memcpy(copy, buffers[i].data(), static_cast<size_t>(storage.bytes()));
    buffers[i] = FreeableBuffer(copy, static_cast<size_t>(storage.bytes()));
  }
  return Error::Ok;
}

}  // namespace

Result<Plan*> read_plan(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator) {
  // The plan keeps an aligned copy of the payload. The payload is small, because weights are named data.
  void* copy = allocator.allocate(size, flatbuffer::kBufferAlignment);
  RL_REQUIRE(copy != nullptr, MemoryAllocationFailed, "no memory for a plan of %zu bytes", size);
  std::memcpy(copy, payload, size);
  const char* const layout = schema::kPlanSchema.identifier;
  const char* const given = static_cast<const char*>(copy) + 4;
  RL_REQUIRE(size < 8 || std::memcmp(given, layout, 3) != 0 || given[3] == layout[3], NotSupported,
             "the plan has the layout %.4s, but this version of the runtime supports only %s: compile the model again",
             given, layout);
  flatbuffer::Malformed malformed;
  if (!flatbuffer::verify(schema::kPlanSchema, copy, size, &malformed)) {
    return fail(Error::InvalidProgram, "the plan is damaged at byte %zu (%s%s%s): %s", malformed.offset,
                malformed.table ? malformed.table : "", malformed.field ? "." : "",
                malformed.field ? malformed.field : "", malformed.reason);
  }
  void* memory = allocator.allocate(sizeof(Plan), alignof(Plan));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a plan");
  Plan* plan = new (memory) Plan();
  plan->table = flatbuffer::root<schema::Plan>(copy);
  Error error = check(plan->table);
  if (error == Error::Ok) error = read_constants(named_data, allocator, plan);
  if (error == Error::Ok) return plan;
  plan->~Plan();
  return error;
}

}  // namespace rushlight::cpu
