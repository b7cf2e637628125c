#pragma once

#include <cstddef>

#include "rushlight/core/data_loader.h"
#include "rushlight/module/file_loader.h"

namespace rushlight {

// Returns `size` bytes at `offset` of an open file. They are mapped if the system supports this, else read into
// allocated memory. Changes are never written to the file.
Result<FreeableBuffer> map_file(int file, size_t offset, size_t size, MlockConfig lock);

// Does the same, but always reads.
Result<FreeableBuffer> read_file(int file, size_t offset, size_t size);

}  // namespace rushlight
