#pragma once

#include <cstdint>

#include "exec/method_state.h"

namespace rushlight {

// A condition on several integers of a method, such as "u0 <= u1". It is a program for a stack machine; the structs
// have the layout of the file.
struct RelationStep {
  enum Op : uint32_t {
    kConstant,  // pushes `constant`
    kSize,      // pushes the size of dim `dim` of input `index`
    kInteger,   // pushes the integer input `index`
    kValue,     // pushes the integer that the method computes as value `index`
    // These operations pop two numbers and push the result; the left operand is below the top of the stack.
    kAdd,
    kSubtract,
    kMultiply,
    kFloorDivide,
    kModulo,  // as in Python: the result has the sign of the divisor
    kMaximum,
    kMinimum,
    kLess,
    kLessEqual,
    kEqual,
    kAnd,
    kOr,
    kNot,  // replaces the top number
    kOps
  };
  uint32_t op;
  uint32_t index;
  uint32_t dim;
  uint32_t name;  // offset in the data of the name of the pushed number
  int64_t constant;
};

struct Relation {
  static constexpr uint32_t kStart = 0xFFFFFFFFu;
  uint32_t trigger;  // the relation is checked when this value is written; kStart means before a run
  uint32_t first;    // index of the first step, in the method's steps
  uint32_t count;
  uint32_t text;    // offset in the data of the relation's text
  uint32_t source;  // offset in the data of the user's source line
  uint32_t reserved;
};

// Reads the relations of the method from the named data of the program. A program may have no relations. Returns
// InvalidProgram if the data are damaged.
Error load_relations(MethodState& state);

// Checks the relations between inputs, after all inputs are set.
Error check_relations(const MethodState& state);

// Checks the relations whose last integer is `value`, which was just written.
Error check_relations_of(const MethodState& state, const EValue& value);

}  // namespace rushlight
