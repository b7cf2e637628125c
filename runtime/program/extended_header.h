// The headers after the file identifier of .pte ("eh00") and .ptd ("FH01") files. They state where the tables end and
// where the data segments begin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/flatbuffer.h"

namespace rushlight {

// The first kHeaderBytes bytes of a file, or the whole file if it is shorter, contain the header.
constexpr size_t kHeaderBytes = 64;

// All offsets and sizes are in bytes and inside the file. Segments come after the tables.
struct FileLayout {
  uint64_t tables_size;   // from the start of the file; the flatbuffer to verify
  uint64_t segment_base;  // 0 if there are no segments
  uint64_t segment_size;  // total of all segments; 0 if there are no segments
};

// Reads the layout of a .pte file of `file_size` bytes. `data` contains its first `size` bytes, size =
// min(kHeaderBytes, file_size). A file without a header has tables only. Returns false and fills `malformed` (which may
// be null) if the header contradicts itself or the size of the file.
bool read_program_layout(const void* data, size_t size, uint64_t file_size, FileLayout* layout,
                         flatbuffer::Malformed* malformed);

// Does the same for a .ptd file, which must have a header.
bool read_flat_tensor_layout(const void* data, size_t size, uint64_t file_size, FileLayout* layout,
                             flatbuffer::Malformed* malformed);

}  // namespace rushlight
