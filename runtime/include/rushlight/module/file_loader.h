#pragma once

#include <memory>

#include "rushlight/core/data_loader.h"

namespace rushlight {

// Reads parts of a file into allocated memory, aligned to 64 bytes.
class FileDataLoader final : public DataLoader {
 public:
  // Opens a file. Returns AccessFailed if this is impossible.
  static Result<std::unique_ptr<FileDataLoader>> open(const char* path);
  // Takes over an open descriptor of a regular file; the loader closes it when the loader is destroyed. If this
  // function fails, the caller still owns the descriptor.
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

// How the operating system treats mapped memory.
enum class MlockConfig {
  NoMlock,               // the system reads ahead while the program computes
  UseMlock,              // the system keeps the pages in memory; if it refuses, the load fails
  UseMlockIgnoreErrors,  // the system keeps the pages in memory if it can
  UseMadvise,            // the same as NoMlock
};

// Maps parts of a file into memory. The maps stay valid after the loader is destroyed. The file is never written.
class MmapDataLoader final : public DataLoader {
 public:
  // Opens a file. Returns AccessFailed if this is impossible.
  static Result<std::unique_ptr<MmapDataLoader>> open(const char* path, MlockConfig lock = MlockConfig::NoMlock);
  // Takes over an open descriptor of a regular file; the loader closes it when the loader is destroyed. If this
  // function fails, the caller still owns the descriptor.
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
