#pragma once

#include <cstdint>

#include "exec/method_state.h"

namespace rushlight {

// A condition on several integers of a method, such as "u0 <= u1": a program for a stack machine, as it is stored in
// the file.
struct RelationStep {
  enum Op : uint32_t {
    kConstant,  // pushes `constant`
    kSize,      // the size of dim `dim` of input `index`
    kInteger,   // the integer input `index`
    kValue,     // the integer of value `index`, which the method computes
    // These operations take two numbers; the left one is below the top of the stack.
    kAdd,
    kSubtract,
    kMultiply,
    kFloorDivide,
    kModulo,  // as in Python: the sign is that of the divisor
    kMaximum,
    kMinimum,
    kLess,
    kLessEqual,
    kEqual,
    kAnd,
    kOr,
    kNot,  // takes one number
    kOps
  };
  uint32_t op;
  uint32_t index;
  uint32_t dim;
  uint32_t name;  // of what is pushed: where it begins in the data
  int64_t constant;
};

struct Relation {
  static constexpr uint32_t kStart = 0xFFFFFFFFu;
  uint32_t trigger;  // the value after which the relation is checked; kStart means before a run
  uint32_t first;    // of the method's steps
  uint32_t count;
  uint32_t text;    // where the relation as text begins in the data
  uint32_t source;  // where the user's line begins
  uint32_t reserved;
};

// Reads the relations of the method from the named data of the program, which may have none. Returns InvalidProgram if
// the data are damaged.
Error load_relations(MethodState& state);

// Checks the relations between inputs, after all inputs are set.
Error check_relations(const MethodState& state);

// Checks the relations whose last integer was just written.
Error check_relations_of(const MethodState& state, const EValue& value);

}  // namespace rushlight
