#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "rushlight/core/error.h"
#include "rushlight/core/result.h"

namespace rushlight {

// Bytes and how to give them back. Move-only.
class FreeableBuffer {
 public:
  using FreeFunction = void (*)(void* context, const void* data, size_t size);
  FreeableBuffer() = default;
  FreeableBuffer(const void* data, size_t size, FreeFunction free_function = nullptr, void* context = nullptr)
      : data_(data), size_(size), free_(free_function), context_(context) {}
  FreeableBuffer(FreeableBuffer&& other) noexcept { swap(other); }
  FreeableBuffer& operator=(FreeableBuffer&& other) noexcept {
    if (this != &other) {
      release();
      swap(other);
    }
    return *this;
  }
  ~FreeableBuffer() { release(); }

  void release() {
    if (data_ && free_) free_(context_, data_, size_);
    data_ = nullptr;
    size_ = 0;
    free_ = nullptr;
  }
  const void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void swap(FreeableBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(free_, other.free_);
    std::swap(context_, other.context_);
  }
  const void* data_ = nullptr;
  size_t size_ = 0;
  FreeFunction free_ = nullptr;
  void* context_ = nullptr;
};

enum class SegmentKind : uint8_t { Program, Constant, Backend, Mutable, External };

// Where the bytes of a file come from. Outlives everything loaded through it.
class DataLoader {
 public:
  virtual Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind kind) = 0;
  virtual Result<size_t> size() const = 0;
  // Reads straight into `buffer`.
  virtual Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) = 0;

 protected:
  ~DataLoader() = default;
};

}  // namespace rushlight
