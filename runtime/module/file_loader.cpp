#include "rushlight/module/file_loader.h"

#include <new>

#include "module/files.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

constexpr size_t kAlignment = 64;

Error check_range(size_t offset, size_t size, size_t available) {
  RL_REQUIRE(offset <= available && size <= available - offset, AccessFailed,
             "cannot read %zu bytes at offset %zu of a file of %zu bytes", size, offset, available);
  return Error::Ok;
}

Result<OpenFile> open_path(const char* path) {
  RL_REQUIRE(path, InvalidArgument, "the path of the file is null");
  return open_file(path);
}

// Reads a range of a file of `available` bytes into `buffer`.
Error read_into(int file, size_t offset, size_t size, size_t available, void* buffer) {
  RL_TRY(check_range(offset, size, available));
  RL_REQUIRE(buffer || size == 0, InvalidArgument, "the memory for %zu bytes of a file is null", size);
  return read_range(file, offset, size, buffer);
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
  RL_ASSIGN(const OpenFile opened, open_path(path));
  return std::unique_ptr<FileDataLoader>(new FileDataLoader(opened.file, opened.size));
}

Result<std::unique_ptr<FileDataLoader>> FileDataLoader::from_descriptor(int file) {
  RL_ASSIGN(const OpenFile opened, describe_file(file));
  return std::unique_ptr<FileDataLoader>(new FileDataLoader(opened.file, opened.size));
}

FileDataLoader::~FileDataLoader() { close_file(file_); }

Result<FreeableBuffer> FileDataLoader::load(size_t offset, size_t size, SegmentKind) {
  RL_TRY(check_range(offset, size, size_));
  return read_file(file_, offset, size);
}

Error FileDataLoader::load_into(size_t offset, size_t size, SegmentKind, void* buffer) {
  return read_into(file_, offset, size, size_, buffer);
}

Result<std::unique_ptr<MmapDataLoader>> MmapDataLoader::open(const char* path, MlockConfig lock) {
  RL_ASSIGN(const OpenFile opened, open_path(path));
  return std::unique_ptr<MmapDataLoader>(new MmapDataLoader(opened.file, opened.size, lock));
}

Result<std::unique_ptr<MmapDataLoader>> MmapDataLoader::from_descriptor(int file, MlockConfig lock) {
  RL_ASSIGN(const OpenFile opened, describe_file(file));
  return std::unique_ptr<MmapDataLoader>(new MmapDataLoader(opened.file, opened.size, lock));
}

MmapDataLoader::~MmapDataLoader() { close_file(file_); }

Result<FreeableBuffer> MmapDataLoader::load(size_t offset, size_t size, SegmentKind) {
  RL_TRY(check_range(offset, size, size_));
  if (size == 0) return FreeableBuffer("", 0);
  return map_file(file_, offset, size, lock_);
}

Error MmapDataLoader::load_into(size_t offset, size_t size, SegmentKind, void* buffer) {
  return read_into(file_, offset, size, size_, buffer);
}

}  // namespace rushlight
