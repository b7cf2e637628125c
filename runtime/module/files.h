#pragma once

#include <cstddef>

#include "rushlight/core/data_loader.h"
#include "rushlight/module/file_loader.h"

// Access to files by descriptor. On Windows, the descriptors belong to the C library.
namespace rushlight {

struct OpenFile {
  int file;
  size_t size;
};

// Opens a regular file for reading. Returns AccessFailed, with the reason, if it cannot be opened.
Result<OpenFile> open_file(const char* path);
// Returns the size of an open regular file.
Result<OpenFile> describe_file(int file);
void close_file(int file);

// Reads `size` bytes at `offset`. The position of the descriptor does not change.
Error read_range(int file, size_t offset, size_t size, void* buffer);

// Returns `size` bytes at `offset` of an open file. They are mapped if the system supports this, else read into
// allocated memory. Changes are never written to the file.
Result<FreeableBuffer> map_file(int file, size_t offset, size_t size, MlockConfig lock);

// Does the same as map_file(), but always reads into memory.
Result<FreeableBuffer> read_file(int file, size_t offset, size_t size);

}  // namespace rushlight
