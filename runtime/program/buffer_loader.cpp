#include "rushlight/program/buffer_loader.h"

#include <cstring>

namespace rushlight {
namespace {

Error check_range(size_t offset, size_t size, size_t available) {
  RL_REQUIRE(offset <= available && size <= available - offset, AccessFailed,
             "cannot read %zu bytes at offset %zu of a buffer of %zu bytes", size, offset, available);
  return Error::Ok;
}

}  // namespace

Result<FreeableBuffer> BufferDataLoader::load(size_t offset, size_t size, SegmentKind) {
  RL_TRY(check_range(offset, size, size_));
  return FreeableBuffer(data_ + offset, size);
}

Error BufferDataLoader::load_into(size_t offset, size_t size, SegmentKind, void* buffer) {
  RL_TRY(check_range(offset, size, size_));
  if (size > 0) std::memcpy(buffer, data_ + offset, size);
  return Error::Ok;
}

}  // namespace rushlight
