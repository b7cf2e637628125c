#include "rushlight/core/backend.h"

namespace rushlight {

const Backend* find_backend(BackendTable table, std::string_view id) {
  for (const Backend& row : table) {
    if (id == row.id) return &row;
  }
  return nullptr;
}

}  // namespace rushlight
