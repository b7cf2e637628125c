#pragma once

#include "core/flatbuffer.h"
#include "program/schema_generated.h"
#include "rushlight/core/span.h"

namespace rushlight {

// Returns a view of a vector of numbers; verification has checked its alignment.
template <typename T>
Span<const T> span_of(const flatbuffer::Vector<T>& vector) {
  return {vector.data(), vector.size()};
}

inline schema::Program program_at(const uint8_t* root) { return schema::Program(root); }
// Not inline, because every function of a view calls it.
schema::ExecutionPlan plan_at(const uint8_t* root, uint32_t index);

}  // namespace rushlight
