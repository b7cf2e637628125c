#pragma once

#include <cstddef>

#include "rushlight/core/data_loader.h"

namespace rushlight {

// `size` bytes of an open file from `offset`, within it: mapped, where the system can, else read into memory of their
// own. Never written back.
Result<FreeableBuffer> map_file(int file, size_t offset, size_t size);

// The same, always read.
Result<FreeableBuffer> read_file(int file, size_t offset, size_t size);

}  // namespace rushlight
