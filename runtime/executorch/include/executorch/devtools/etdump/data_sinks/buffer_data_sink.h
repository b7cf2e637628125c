#pragma once

#include <cstdint>
#include <cstring>

#include "executorch/devtools/etdump/data_sinks/data_sink_base.h"
#include "executorch/runtime/core/span.h"

namespace executorch {
namespace etdump {

// Stores data in a buffer of the application.
class BufferDataSink : public DataSinkBase {
 public:
  // Each write begins at a multiple of `alignment`, which must be a power of two.
  static runtime::Result<BufferDataSink> create(runtime::Span<uint8_t> buffer, size_t alignment = 64) noexcept {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) return runtime::Error::InvalidArgument;
    return BufferDataSink(buffer, alignment);
  }
  static runtime::Result<BufferDataSink> create(void* ptr, size_t size, size_t alignment = 64) noexcept {
    return create({static_cast<uint8_t*>(ptr), size}, alignment);
  }
  BufferDataSink() = default;
  BufferDataSink(BufferDataSink&&) = default;
  BufferDataSink& operator=(BufferDataSink&&) = default;

  // Returns OutOfResources if the data do not fit.
  runtime::Result<size_t> write(const void* ptr, size_t size) override {
    if (size == 0) return used_;
    const size_t padding = -reinterpret_cast<uintptr_t>(buffer_.data() + used_) & (alignment_ - 1);
    const size_t free = buffer_.size() - used_;
    if (padding > free || size > free - padding) return runtime::Error::OutOfResources;
    std::memset(buffer_.data() + used_, 0, padding);
    used_ += padding + size;
    std::memcpy(buffer_.data() + used_ - size, ptr, size);
    return used_ - size;
  }
  runtime::Result<size_t> get_storage_size() const { return buffer_.size(); }
  size_t get_used_bytes() const override { return used_; }

 private:
  BufferDataSink(runtime::Span<uint8_t> buffer, size_t alignment) : buffer_(buffer), alignment_(alignment) {}
  runtime::Span<uint8_t> buffer_;
  size_t used_ = 0;
  size_t alignment_ = 64;
};

}  // namespace etdump
}  // namespace executorch
