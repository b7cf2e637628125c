#pragma once

#include "backends/cpu/schema_generated.h"
#include "backends/cpu/step.h"
#include "core/integer_expression.h"
#include "rushlight/core/backend.h"

namespace rushlight::cpu {

// The codes of an expression, as schema/cpu_plan.fbs numbers them. A constant is followed by its value, a symbol by its
// index; an operation takes the two upper numbers of the stack.
enum ExpressionCode : int64_t { kConstantCode, kSymbolCode, kFirstOperation };
inline constexpr ExpressionOp kExpressionOps[] = {ExpressionOp::Add,         ExpressionOp::Multiply,
                                                  ExpressionOp::FloorDivide, ExpressionOp::Modulo,
                                                  ExpressionOp::Maximum,     ExpressionOp::Minimum};

// A validated payload: expressions refer to earlier symbols, values to storages and expressions, and so on. What
// depends on sizes is checked by Shapes whenever they change.
struct Plan {
  schema::Plan table;
  Span<FreeableBuffer> constants;  // by storage, and what state is at first; empty for other kinds

  ~Plan() {
    for (FreeableBuffer& buffer : constants) buffer.Free();
  }
};

Result<Plan*> read_plan(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator);

}  // namespace rushlight::cpu
