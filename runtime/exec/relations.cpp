#include "exec/relations.h"

#include <cstring>
#include <utility>

#include "core/integer_expression.h"
#include "core/message.h"
#include "exec/stored_data.h"
#include "platform/format.h"

namespace rushlight {
namespace {

constexpr char kKey[] = "rushlight.relations.";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 16;  // version, count of relations, count of steps, zero
static_assert(sizeof(Relation) == 24 && sizeof(RelationStep) == 24, "both structs have the layout of the file");

const char* text_at(const MethodState& state, uint32_t offset) {
  return static_cast<const char*>(state.relation_data.data()) + offset;
}

uint32_t operands_of(uint32_t op) { return op <= RelationStep::kValue ? 0 : op == RelationStep::kNot ? 1 : 2; }

bool is_valid(const MethodState& state, const RelationStep& step, size_t size) {
  if (step.op >= RelationStep::kOps || step.name >= size) return false;
  switch (step.op) {
    case RelationStep::kSize:
      return step.index < state.num_inputs && state.inputs[step.index].tensor &&
             step.dim < state.inputs[step.index].tensor->dim;
    case RelationStep::kInteger:
      return step.index < state.num_inputs && !state.inputs[step.index].tensor &&
             state.inputs[step.index].value->tag == Tag::Int;
    case RelationStep::kValue:
      return step.index < state.plan.num_values() && state.values[step.index].tag == Tag::Int;
    default:
      return true;
  }
}

bool is_valid(const MethodState& state, const Relation& relation, size_t size) {
  if (relation.text >= size || relation.source >= size || relation.count == 0 ||
      relation.first > state.num_relation_steps || relation.count > state.num_relation_steps - relation.first ||
      (relation.trigger != Relation::kStart && relation.trigger >= state.plan.num_values())) {
    return false;
  }
  uint32_t depth = 0;
  for (uint32_t i = 0; i < relation.count; ++i) {
    const uint32_t taken = operands_of(state.relation_steps[relation.first + i].op);
    if (depth < taken || depth - taken >= ExpressionStack::kDepth) return false;
    depth += 1 - taken;
  }
  return depth == 1;
}

static_assert(static_cast<uint32_t>(ExpressionOp::Or) == RelationStep::kOr - RelationStep::kAdd,
              "operations have the order of ExpressionOp");
ExpressionOp op_of(const RelationStep& step) { return static_cast<ExpressionOp>(step.op - RelationStep::kAdd); }

int64_t operand_value(const MethodState& state, const RelationStep& step) {
  switch (step.op) {
    case RelationStep::kSize:
      return state.inputs[step.index].tensor->sizes[step.dim];
    case RelationStep::kInteger:
      return state.inputs[step.index].value->to_int();
    case RelationStep::kValue:
      return state.values[step.index].to_int();
    default:
      return step.constant;
  }
}

// Returns whether the relation holds; false also if a number does not fit into 64 bits.
bool holds(const MethodState& state, const Relation& relation) {
  ExpressionStack stack;
  for (uint32_t i = 0; i < relation.count; ++i) {
    const RelationStep& step = state.relation_steps[relation.first + i];
    if (step.op <= RelationStep::kValue) {
      stack.push(operand_value(state, step));
    } else if (step.op == RelationStep::kNot) {
      stack.negate();
    } else if (!stack.apply(op_of(step))) {
      return false;
    }
  }
  return stack.top() != 0;
}

Error check(const MethodState& state, const Relation& relation) {
  if (holds(state, relation)) return Error::Ok;
  if (!kHasMessages) return Error::InvalidArgument;
  // "x.shape[0] is 3, y.shape[0] is 2"
  char values[192] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < relation.count; ++i) {
    const RelationStep& step = state.relation_steps[relation.first + i];
    bool is_listed = step.op == RelationStep::kConstant || step.op > RelationStep::kValue;
    for (uint32_t j = 0; j < i && !is_listed; ++j) {
      const RelationStep& before = state.relation_steps[relation.first + j];
      is_listed = before.op == step.op && before.index == step.index && before.dim == step.dim;
    }
    if (is_listed || length >= sizeof(values)) continue;
    const int written = format_text(values + length, sizeof(values) - length, "%s%.64s is %lld", length ? ", " : "",
                                    text_at(state, step.name), static_cast<long long>(operand_value(state, step)));
    if (written > 0) length += static_cast<size_t>(written);
  }
  const char* const source = text_at(state, relation.source);
  return fail(Error::InvalidArgument, "method '%.80s' needs %.160s%s%.80s%s, but %s", state.plan.name().data(),
              text_at(state, relation.text), *source ? " (" : "", source, *source ? ")" : "", values);
}

template <typename T>
const T* read_records(MethodState& state, const uint8_t* bytes, uint32_t count) {
  T* const records = state.memory.method->allocate_array<T>(count);
  if (records != nullptr && count > 0) std::memcpy(records, bytes, count * sizeof(T));
  return records;
}

}  // namespace

Error load_relations(MethodState& state) {
  RL_ASSIGN(FreeableBuffer data, load_stored_data(state.plan.program(), state.plan.name(), kKey));
  if (data.data() == nullptr) return Error::Ok;
  const auto* const bytes = static_cast<const uint8_t*>(data.data());
  const size_t size = data.size();
  uint32_t header[4] = {};
  if (size > kHeader) std::memcpy(header, bytes, kHeader);
  if (header[0] > kVersion) return Error::Ok;  // the data have a format of a newer runtime
  const uint32_t count = header[1], steps = header[2];
  RL_REQUIRE(header[0] == kVersion && count <= (size - kHeader) / sizeof(Relation) &&
                 steps <= (size - kHeader - count * sizeof(Relation)) / sizeof(RelationStep) && bytes[size - 1] == 0,
             InvalidProgram, "the relations of method '%.80s' are damaged", state.plan.name().data());
  state.relations = read_records<Relation>(state, bytes + kHeader, count);
  state.relation_steps = read_records<RelationStep>(state, bytes + kHeader + count * sizeof(Relation), steps);
  RL_REQUIRE((state.relations || count == 0) && (state.relation_steps || steps == 0), MemoryAllocationFailed,
             "method '%.80s' does not fit the method allocator: it has %u relations of %u steps",
             state.plan.name().data(), count, steps);
  state.num_relation_steps = steps;
  for (uint32_t i = 0; i < steps; ++i) {
    RL_REQUIRE(is_valid(state, state.relation_steps[i], size), InvalidProgram,
               "step %u of the relations of method '%.80s' is damaged", i, state.plan.name().data());
  }
  for (uint32_t i = 0; i < count; ++i) {
    RL_REQUIRE(is_valid(state, state.relations[i], size), InvalidProgram, "relation %u of method '%.80s' is damaged", i,
               state.plan.name().data());
  }
  state.num_relations = count;
  state.relation_data = std::move(data);
  return Error::Ok;
}

Error check_relations(const MethodState& state) {
  for (uint32_t i = 0; i < state.num_relations; ++i) {
    if (state.relations[i].trigger == Relation::kStart) RL_TRY(check(state, state.relations[i]));
  }
  return Error::Ok;
}

Error check_relations_of(const MethodState& state, const EValue& value) {
  for (uint32_t i = 0; i < state.num_relations; ++i) {
    const Relation& relation = state.relations[i];
    if (relation.trigger != Relation::kStart && &state.values[relation.trigger] == &value) {
      RL_TRY(check(state, relation));
    }
  }
  return Error::Ok;
}

}  // namespace rushlight
