#pragma once

#include <cstddef>
#include <cstdint>

#include "executorch/runtime/core/defines.h"
#include "rushlight/core/evalue.h"

namespace executorch {
namespace runtime {

using Tag = ::rushlight::Tag;

#define EXECUTORCH_FORALL_TAGS(_) \
  _(None)                         \
  _(Tensor)                       \
  _(String)                       \
  _(Double)                       \
  _(Int)                          \
  _(Bool)                         \
  _(ListBool)                     \
  _(ListDouble)                   \
  _(ListInt)                      \
  _(ListTensor)                   \
  _(ListScalar)                   \
  _(ListOptionalTensor)

// Returns the name of a tag, for example "ListInt".
inline const char* tag_to_string(Tag tag) {
  switch (tag) {
#define ET_INTERNAL_TAG_CASE(name) \
  case Tag::name:                  \
    return #name;
    EXECUTORCH_FORALL_TAGS(ET_INTERNAL_TAG_CASE)
#undef ET_INTERNAL_TAG_CASE
  }
  return "Unknown";
}

// Writes the name of a tag with a final NUL, cut to `buffer_size` bytes. Returns the number of written characters,
// without the NUL.
size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size);

// The size of the longest name, including NUL.
constexpr size_t kTagNameBufferSize = 19;

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Tag;
}  // namespace executor
}  // namespace torch
