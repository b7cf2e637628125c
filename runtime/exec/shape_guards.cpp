#include "exec/shape_guards.h"

#include <cstring>
#include <utility>

#include "core/message.h"
#include "exec/stored_data.h"
#include "platform/format.h"

namespace rushlight {
namespace {

constexpr char kKey[] = "rushlight.shape_guards.";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 8;
constexpr size_t kRecord = 48;
static_assert(sizeof(ShapeGuard) == kRecord, "the struct has the layout of the file");

const char* name_of(const MethodState& state, const ShapeGuard& guard) {
  return static_cast<const char*>(state.guard_data.data()) + guard.name;
}

// The name of a checked number for messages: "dim 0 of input 1 ('x')", "input 1 ('n')" or "an integer read from 'n'".
struct NumberName {
  char text[112] = "";
  NumberName(const MethodState& state, const ShapeGuard& guard) {
    if (!kHasMessages) return;
    if (guard.dim == ShapeGuard::kInteger) {
      format_text(text, sizeof(text), "input %u ('%.64s')", guard.input, name_of(state, guard));
    } else if (guard.dim == ShapeGuard::kValue) {
      format_text(text, sizeof(text), "an integer read from '%.64s'", name_of(state, guard));
    } else {
      format_text(text, sizeof(text), "dim %u of input %u ('%.64s')", guard.dim, guard.input, name_of(state, guard));
    }
  }
};

int64_t size_of(const MethodState& state, const ShapeGuard& guard) {
  const InputOutput& input = state.inputs[guard.input];
  return guard.dim == ShapeGuard::kInteger ? input.value->to_int() : input.tensor->sizes[guard.dim];
}

bool is_valid(const MethodState& state, const ShapeGuard& guard, uint32_t index, size_t size) {
  if (guard.scale < 1 || guard.scale > INT32_MAX || guard.offset < -INT32_MAX || guard.offset > INT32_MAX ||
      guard.first > index || guard.name < kHeader || guard.name >= size) {
    return false;
  }
  if (guard.dim == ShapeGuard::kValue) {
    return guard.first == index && guard.scale == 1 && guard.offset == 0 && guard.input < state.plan.num_values() &&
           state.values[guard.input].tag == Tag::Int;
  }
  if (guard.input >= state.num_inputs) return false;
  const InputOutput& input = state.inputs[guard.input];
  if (guard.dim != ShapeGuard::kInteger) return input.tensor && guard.dim < input.tensor->dim;
  return !input.tensor && input.value->tag == Tag::Int;
}

// Returns the number of guards in the data, or 0 if the data have a format of a newer runtime.
Result<uint32_t> count_guards(const FreeableBuffer& data, std::string_view method) {
  uint32_t header[2] = {0, 0};
  if (data.size() >= kHeader) std::memcpy(header, data.data(), kHeader);
  if (header[0] > kVersion) return 0u;
  const auto* const bytes = static_cast<const uint8_t*>(data.data());
  RL_REQUIRE(header[0] == kVersion && header[1] <= (data.size() - kHeader) / kRecord && bytes[data.size() - 1] == 0,
             InvalidProgram, "the shape guards of method '%.80s' are damaged", method.data());
  return header[1];
}

Error check_bounds(const MethodState& state, const ShapeGuard& guard, int64_t size) {
  const char* const method = state.plan.name().data();
  RL_REQUIRE(guard.low != guard.high || size == guard.low, InvalidArgument,
             "%s of method '%.80s' must be %lld, but is %lld", NumberName(state, guard).text, method,
             static_cast<long long>(guard.low), static_cast<long long>(size));
  RL_REQUIRE(size >= guard.low, InvalidArgument, "%s of method '%.80s' must be at least %lld, but is %lld",
             NumberName(state, guard).text, method, static_cast<long long>(guard.low), static_cast<long long>(size));
  RL_REQUIRE(guard.high < 0 || size <= guard.high, InvalidArgument,
             "%s of method '%.80s' must be at most %lld, but is %lld", NumberName(state, guard).text, method,
             static_cast<long long>(guard.high), static_cast<long long>(size));
  return Error::Ok;
}

}  // namespace

Error load_shape_guards(MethodState& state) {
  RL_ASSIGN(FreeableBuffer data, load_stored_data(state.plan.program(), state.plan.name(), kKey));
  if (data.data() == nullptr) return Error::Ok;
  RL_ASSIGN(const uint32_t count, count_guards(data, state.plan.name()));
  const auto* const bytes = static_cast<const uint8_t*>(data.data());
  ShapeGuard* const guards = state.memory.method->allocate_array<ShapeGuard>(count);
  RL_REQUIRE(guards || count == 0, MemoryAllocationFailed,
             "method '%.80s' does not fit the method allocator: it has %u shape guards", state.plan.name().data(),
             count);
  for (uint32_t i = 0; i < count; ++i) {
    std::memcpy(&guards[i], bytes + kHeader + i * kRecord, kRecord);
    RL_REQUIRE(is_valid(state, guards[i], i, data.size()), InvalidProgram,
               "shape guard %u of method '%.80s' is damaged", i, state.plan.name().data());
  }
  state.guards = guards;
  state.num_guards = count;
  state.guard_data = std::move(data);
  return Error::Ok;
}

Error read_input_ranges(const Program& program, std::string_view method, size_t input, Span<SizeRange> ranges) {
  RL_ASSIGN(FreeableBuffer data, load_stored_data(program, method, kKey));
  if (data.data() == nullptr) return Error::Ok;
  RL_ASSIGN(const uint32_t count, count_guards(data, method));
  const auto* const bytes = static_cast<const uint8_t*>(data.data());
  for (uint32_t i = 0; i < count; ++i) {
    ShapeGuard guard;
    std::memcpy(&guard, bytes + kHeader + i * kRecord, kRecord);
    if (guard.input == input && guard.dim < ranges.size()) ranges[guard.dim] = {guard.low, guard.high};
  }
  return Error::Ok;
}

Error check_input_range(const MethodState& state, uint32_t input, Span<const SizesType> sizes, int64_t integer) {
  for (uint32_t i = 0; i < state.num_guards; ++i) {
    const ShapeGuard& guard = state.guards[i];
    if (guard.input != input || guard.dim == ShapeGuard::kValue) continue;
    if ((guard.dim == ShapeGuard::kInteger) != sizes.empty()) continue;
    const int64_t size = sizes.empty() ? integer : sizes[guard.dim];
    const char* const method = state.plan.name().data();
    RL_TRY(check_bounds(state, guard, size));
    RL_REQUIRE((size - guard.offset) % guard.scale == 0, InvalidArgument,
               "%s of method '%.80s' must be a multiple of %lld%s%.0lld, but is %lld", NumberName(state, guard).text,
               method, static_cast<long long>(guard.scale), guard.offset ? " plus " : "",
               static_cast<long long>(guard.offset), static_cast<long long>(size));
  }
  return Error::Ok;
}

Error check_value_range(const MethodState& state, const EValue& value) {
  for (uint32_t i = 0; i < state.num_guards; ++i) {
    const ShapeGuard& guard = state.guards[i];
    if (guard.dim != ShapeGuard::kValue || &state.values[guard.input] != &value || value.tag != Tag::Int) continue;
    RL_TRY(check_bounds(state, guard, value.to_int()));
  }
  return Error::Ok;
}

Error check_input_relations(const MethodState& state) {
  for (uint32_t i = 0; i < state.num_guards; ++i) {
    const ShapeGuard& guard = state.guards[i];
    if (guard.first == i) continue;
    const ShapeGuard& first = state.guards[guard.first];
    const int64_t size = size_of(state, guard);
    const int64_t other = size_of(state, first);
    const int64_t wanted = (other - first.offset) / first.scale * guard.scale + guard.offset;
    RL_REQUIRE(size == wanted, InvalidArgument, "%s of method '%.80s' must be %lld where %s is %lld, but is %lld",
               NumberName(state, guard).text, state.plan.name().data(), static_cast<long long>(wanted),
               NumberName(state, first).text, static_cast<long long>(other), static_cast<long long>(size));
  }
  return Error::Ok;
}

}  // namespace rushlight
