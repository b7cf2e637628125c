#pragma once

#include <memory>

#include "rushlight/core/data_loader.h"

namespace rushlight {

// Reads parts of a file into allocated memory, aligned to 64 bytes.
class FileDataLoader final : public DataLoader {
 public:
  // Opens a file. Returns AccessFailed if this is impossible.
  static Result<std::unique_ptr<FileDataLoader>> open(const char* path);
  ~FileDataLoader();
  Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind kind) override;
  Result<size_t> size() const override { return size_; }
  Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) override;

 private:
  FileDataLoader(int file, size_t size) : file_(file), size_(size) {}
  int file_;
  size_t size_;
};

// Maps parts of a file into memory. They stay valid after the loader is destroyed. The file is never written.
class MmapDataLoader final : public DataLoader {
 public:
  // Opens a file. Returns AccessFailed if this is impossible.
  static Result<std::unique_ptr<MmapDataLoader>> open(const char* path);
  ~MmapDataLoader();
  Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind kind) override;
  Result<size_t> size() const override { return size_; }
  Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) override;

 private:
  MmapDataLoader(int file, size_t size) : file_(file), size_(size) {}
  int file_;
  size_t size_;
};

}  // namespace rushlight
