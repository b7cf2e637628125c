// The headers that follow the file identifier of .pte ("eh00") and .ptd ("FH01") files and say where
// the tables end and the data segments begin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/flatbuffer.h"

namespace rushlight {

// Reading this many bytes of the start of a file, or the whole file if shorter, finds either header.
constexpr size_t kHeaderBytes = 64;

// All offsets and sizes are in bytes and inside of the file; segments come after the tables.
struct FileLayout {
  uint64_t tables_size;   // from the start of the file; the flatbuffer to verify
  uint64_t segment_base;  // 0 if there are no segments
  uint64_t segment_size;  // of all segments together; 0 if there are none
};

// Layout of a .pte file of `file_size` bytes that starts with data[0, size), size = min(kHeaderBytes,
// file_size). A file without a header is all tables. False, with `malformed` filled in, if the header
// contradicts itself or the file. `malformed` may be null.
bool read_program_layout(const void* data, size_t size, uint64_t file_size, FileLayout* layout,
                         flatbuffer::Malformed* malformed);

// The same for a .ptd file, whose header is mandatory.
bool read_flat_tensor_layout(const void* data, size_t size, uint64_t file_size, FileLayout* layout,
                             flatbuffer::Malformed* malformed);

}  // namespace rushlight
