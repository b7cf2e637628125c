#pragma once

#include "exec/method_state.h"
#include "platform/format.h"

namespace rushlight {

// What the program stores under `prefix` followed by the method's name; a buffer without data if there is nothing.
inline Result<FreeableBuffer> load_stored_data(const Program& program, std::string_view method, const char* prefix) {
  char key[256];
  const int length = format_text(key, sizeof(key), "%s%.*s", prefix, static_cast<int>(method.size()), method.data());
  if (length < 0 || static_cast<size_t>(length) >= sizeof(key)) return FreeableBuffer();
  const std::string_view name(key, static_cast<size_t>(length));
  if (!program.has_named_data(name)) return FreeableBuffer();
  return program.load_named_data(name);
}

}  // namespace rushlight
