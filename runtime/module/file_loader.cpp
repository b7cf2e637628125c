#include "rushlight/module/file_loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "module/mapping.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

constexpr size_t kAlignment = 64;

struct OpenFile {
  int file;
  size_t size;
};

Result<OpenFile> open_file(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  RL_REQUIRE(file >= 0, AccessFailed, "cannot open '%.300s': %s", path, std::strerror(errno));
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return fail(Error::AccessFailed, "'%.300s' is not a regular file", path);
  }
  return OpenFile{file, static_cast<size_t>(status.st_size)};
}

Error check_range(size_t offset, size_t size, size_t available) {
  RL_REQUIRE(offset <= available && size <= available - offset, AccessFailed,
             "cannot read %zu bytes at offset %zu of a file of %zu bytes", size, offset, available);
  return Error::Ok;
}

Error read_range(int file, size_t offset, size_t size, void* buffer) {
  auto* out = static_cast<uint8_t*>(buffer);
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(file, out + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    RL_REQUIRE(count > 0, AccessFailed, "the file ends or fails at byte %zu: %s", offset + done,
               count == 0 ? "it has become shorter" : std::strerror(errno));
    done += static_cast<size_t>(count);
  }
  return Error::Ok;
}

void release_memory(void*, void* data, size_t) { platform::release(data); }

}  // namespace

Result<FreeableBuffer> read_file(int file, size_t offset, size_t size) {
  void* memory = platform::allocate(size, kAlignment);
  RL_REQUIRE(memory, MemoryAllocationFailed, "no memory for %zu bytes of a file", size);
  FreeableBuffer buffer(memory, size, release_memory);
  RL_TRY(read_range(file, offset, size, memory));
  return buffer;
}

Result<std::unique_ptr<FileDataLoader>> FileDataLoader::open(const char* path) {
  RL_ASSIGN(const OpenFile opened, open_file(path));
  return std::unique_ptr<FileDataLoader>(new FileDataLoader(opened.file, opened.size));
}

FileDataLoader::~FileDataLoader() { ::close(file_); }

Result<FreeableBuffer> FileDataLoader::load(size_t offset, size_t size, SegmentKind) {
  RL_TRY(check_range(offset, size, size_));
  return read_file(file_, offset, size);
}

Error FileDataLoader::load_into(size_t offset, size_t size, SegmentKind, void* buffer) {
  RL_TRY(check_range(offset, size, size_));
  return read_range(file_, offset, size, buffer);
}

Result<std::unique_ptr<MmapDataLoader>> MmapDataLoader::open(const char* path, MlockConfig lock) {
  RL_ASSIGN(const OpenFile opened, open_file(path));
  return std::unique_ptr<MmapDataLoader>(new MmapDataLoader(opened.file, opened.size, lock));
}

MmapDataLoader::~MmapDataLoader() { ::close(file_); }

Result<FreeableBuffer> MmapDataLoader::load(size_t offset, size_t size, SegmentKind) {
  RL_TRY(check_range(offset, size, size_));
  if (size == 0) return FreeableBuffer("", 0);
  return map_file(file_, offset, size, lock_);
}

Error MmapDataLoader::load_into(size_t offset, size_t size, SegmentKind, void* buffer) {
  RL_TRY(check_range(offset, size, size_));
  return read_range(file_, offset, size, buffer);
}

}  // namespace rushlight
