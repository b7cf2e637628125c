#pragma once

#include "exec/join_texts.h"
#include "exec/method_state.h"

namespace rushlight {

// Returns the data that the program stores under `prefix` plus the method's name, or an empty buffer if there are none.
inline Result<FreeableBuffer> load_stored_data(const Program& program, std::string_view method, const char* prefix) {
  char key[256];
  const size_t length = join_texts(key, sizeof(key), {prefix, method});
  if (length >= sizeof(key)) return FreeableBuffer();
  const std::string_view name(key, length);
  if (!program.has_named_data(name)) return FreeableBuffer();
  return program.load_named_data(name);
}

}  // namespace rushlight
