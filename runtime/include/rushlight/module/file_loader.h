#pragma once

#include <memory>

#include "rushlight/core/data_loader.h"

namespace rushlight {

// Reads parts of a file into allocated memory, aligned to 64 bytes.
class FileDataLoader final : public DataLoader {
 public:
  // Opens a file. Returns AccessFailed if this is impossible.
  static Result<std::unique_ptr<FileDataLoader>> open(const char* path);
  // Takes an open descriptor of a regular file, and closes it when the loader is destroyed. If this is impossible, the
  // descriptor stays the caller's.
  static Result<std::unique_ptr<FileDataLoader>> from_descriptor(int file);
  ~FileDataLoader();
  Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind kind) override;
  Result<size_t> size() const override { return size_; }
  Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) override;

 private:
  FileDataLoader(int file, size_t size) : file_(file), size_(size) {}
  int file_;
  size_t size_;
};

// What the system is told about mapped memory.
enum class MlockConfig {
  NoMlock,               // it reads ahead while the program computes
  UseMlock,              // it keeps the pages in memory; if it refuses, the load fails
  UseMlockIgnoreErrors,  // it keeps the pages in memory if it can
  UseMadvise,            // as NoMlock
};

// Maps parts of a file into memory. They stay valid after the loader is destroyed. The file is never written.
class MmapDataLoader final : public DataLoader {
 public:
  // Opens a file. Returns AccessFailed if this is impossible.
  static Result<std::unique_ptr<MmapDataLoader>> open(const char* path, MlockConfig lock = MlockConfig::NoMlock);
  // Takes an open descriptor of a regular file, and closes it when the loader is destroyed. If this is impossible, the
  // descriptor stays the caller's.
  static Result<std::unique_ptr<MmapDataLoader>> from_descriptor(int file, MlockConfig lock = MlockConfig::NoMlock);
  ~MmapDataLoader();
  Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind kind) override;
  Result<size_t> size() const override { return size_; }
  Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) override;

 private:
  MmapDataLoader(int file, size_t size, MlockConfig lock) : file_(file), size_(size), lock_(lock) {}
  int file_;
  size_t size_;
  MlockConfig lock_;
};

}  // namespace rushlight
