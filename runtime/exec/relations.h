#pragma once

#include <cstdint>

#include "exec/method_state.h"

namespace rushlight {

// What integers of a method must satisfy together, such as "u0 <= u1": a program for a machine with a stack, as it
// lies in the file.
struct RelationStep {
  enum Op : uint32_t {
    kConstant,  // pushes `constant`
    kSize,      // the size of dim `dim` of input `index`
    kInteger,   // the integer input `index`
    kValue,     // the integer of value `index`, which the method computes
    // These take two numbers, the second from the top.
    kAdd,
    kSubtract,
    kMultiply,
    kFloorDivide,
    kModulo,  // of Python: the sign is the divisor's
    kMaximum,
    kMinimum,
    kLess,
    kLessEqual,
    kEqual,
    kAnd,
    kOr,
    kNot,  // takes one
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
  uint32_t trigger;  // the value after whose writing it is checked; kStart: before a run
  uint32_t first;    // of the method's steps
  uint32_t count;
  uint32_t text;    // where the relation as text begins in the data
  uint32_t source;  // where the user's line begins
  uint32_t reserved;
};

// Reads the relations of the method from the program's named data; a program without them has none. InvalidProgram:
// the data is damaged.
Error load_relations(MethodState& state);

// Checks those that hold between inputs, all of them being set.
Error check_relations(const MethodState& state);

// Checks those that an integer completes which has just been written.
Error check_relations_of(const MethodState& state, const EValue& value);

}  // namespace rushlight
