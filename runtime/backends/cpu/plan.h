#pragma once

#include "backends/cpu/schema_generated.h"
#include "backends/cpu/step.h"
#include "core/integer_expression.h"
#include "rushlight/core/backend.h"

namespace rushlight::cpu {

// The codes of an expression, numbered as in schema/cpu_plan.fbs. The value of a constant or the index of a symbol
// follows its code. An operation replaces the two top numbers of the stack by its result.
enum ExpressionCode : int64_t { kConstantCode, kSymbolCode, kFirstOperation };
inline constexpr ExpressionOp kExpressionOps[] = {ExpressionOp::Add,         ExpressionOp::Multiply,
                                                  ExpressionOp::FloorDivide, ExpressionOp::Modulo,
                                                  ExpressionOp::Maximum,     ExpressionOp::Minimum};

// A validated payload: expressions refer only to earlier symbols, values to existing storages and expressions, and so
// on. Shapes checks all properties that depend on sizes whenever sizes change.
struct Plan {
  schema::Plan table;
  Span<FreeableBuffer> constants;  // by storage; of state: the initial contents; empty for other kinds

  ~Plan() {
    for (FreeableBuffer& buffer : constants) buffer.Free();
  }
};

Result<Plan*> read_plan(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator);

}  // namespace rushlight::cpu
