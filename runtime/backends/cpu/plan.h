#pragma once

#include "backends/cpu/schema_generated.h"
#include "backends/cpu/step.h"
#include "core/integer_expression.h"
#include "rushlight/core/backend.h"

namespace rushlight::cpu {

// The codes of an expression in postfix notation, with the numbers of schema/cpu_plan.fbs. After the code of a constant
// or symbol comes its value or index. An operation replaces the top two numbers of the stack with its result.
enum ExpressionCode : int64_t { kConstantCode, kSymbolCode, kFirstOperation };
inline constexpr ExpressionOp kExpressionOps[] = {ExpressionOp::Add,         ExpressionOp::Multiply,
                                                  ExpressionOp::FloorDivide, ExpressionOp::Modulo,
                                                  ExpressionOp::Maximum,     ExpressionOp::Minimum};

// A validated payload. For example, expressions refer only to existing symbols, and values refer only to existing
// storages and expressions. Properties that depend on sizes are checked whenever sizes change.
struct Plan {
  schema::Plan table;
  Span<FreeableBuffer> constants;  // [storages]: a constant, or the initial contents of a state; else empty

  ~Plan() {
    for (FreeableBuffer& buffer : constants) buffer.Free();
  }
};

Result<Plan*> read_plan(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator);

}  // namespace rushlight::cpu
