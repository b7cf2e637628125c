#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "rushlight/core/error.h"
#include "rushlight/core/result.h"

namespace rushlight {

// Bytes with the function that frees them. The object owns the bytes and can only be moved.
class FreeableBuffer {
 public:
  using FreeFunction = void (*)(void* context, void* data, size_t size);
  // Makes an empty buffer.
  FreeableBuffer() = default;
  // Takes over `size` bytes at `data`. `free_function(context, data, size)` frees them; null frees nothing.
  FreeableBuffer(const void* data, size_t size, FreeFunction free_function = nullptr, void* context = nullptr)
      : data_(data), size_(size), free_(free_function), context_(context) {}
  FreeableBuffer(FreeableBuffer&& other) noexcept { swap(other); }
  FreeableBuffer& operator=(FreeableBuffer&& other) noexcept {
    if (this != &other) {
      Free();
      swap(other);
    }
    return *this;
  }
  ~FreeableBuffer() { Free(); }

  // Frees the bytes now instead of in the destructor. The buffer is empty afterwards.
  void Free() {
    if (data_ && free_) free_(context_, const_cast<void*>(data_), size_);
    data_ = nullptr;
    size_ = 0;
    free_ = nullptr;
  }
  const void* data() const { return data_; }
  Result<const void*> data_safe() const { return data_; }  // ExecuTorch's name of data()
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

// The kind of data that a loader reads; a loader may place kinds in different memories.
enum class SegmentKind : uint8_t { Program, Constant, Backend, Mutable, External };

// Reads the bytes of a file. A loader must outlive all objects that are loaded through it. All functions may be called
// from several threads at the same time. They return AccessFailed if the bytes cannot be read, and InvalidArgument if
// the requested range is not inside the file.
class DataLoader {
 public:
  // Returns `size` bytes at `offset` of the file.
  virtual Result<FreeableBuffer> load(size_t offset, size_t size, SegmentKind kind) = 0;
  // Returns the size of the file in bytes.
  virtual Result<size_t> size() const = 0;
  // Reads `size` bytes at `offset` into `buffer`.
  virtual Error load_into(size_t offset, size_t size, SegmentKind kind, void* buffer) = 0;

 protected:
  ~DataLoader() = default;
};

}  // namespace rushlight
