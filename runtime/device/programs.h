// The programs that are embedded in an application. `rushlight select --embed` writes the definition of
// embedded_programs().
#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/span.h"

namespace rushlight::device {

struct EmbeddedProgram {
  const char* name;
  const uint8_t* data;  // the bytes of a .pte or .bpte file, at a multiple of 16
  size_t size;
};

Span<const EmbeddedProgram> embedded_programs();

}  // namespace rushlight::device
