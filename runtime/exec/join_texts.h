#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace rushlight {

// Concatenates texts into `to`, which has `size` > 0 bytes. The result ends with NUL; characters that do not fit are
// cut. Returns the length of the complete text.
inline size_t join_texts(char* to, size_t size, std::initializer_list<std::string_view> texts) {
  size_t length = 0, written = 0;
  for (const std::string_view text : texts) {
    const size_t fits = text.size() < size - 1 - written ? text.size() : size - 1 - written;
    std::memcpy(to + written, text.data(), fits);
    written += fits;
    length += text.size();
  }
  to[written] = '\0';
  return length;
}

}  // namespace rushlight
