#pragma once

#include <cstddef>

#include "executorch/runtime/core/freeable_buffer.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/platform/compiler.h"
#include "rushlight/core/data_loader.h"

namespace executorch {
namespace runtime {

// Reads the bytes of a file. An application may implement this class.
class DataLoader {
 public:
  // The kind of the data to read.
  struct SegmentInfo {
    enum class Type { Program, Constant, Backend, Mutable, External };
    Type segment_type = Type::Program;
    size_t segment_index = 0;
    const char* descriptor = nullptr;

    SegmentInfo() = default;
    explicit SegmentInfo(Type type, size_t index = 0, const char* text = nullptr)
        : segment_type(type), segment_index(index), descriptor(text) {}
  };

  DataLoader() : bridge_(*this) {}
  DataLoader(const DataLoader&) : bridge_(*this) {}
  DataLoader(DataLoader&&) noexcept : bridge_(*this) {}
  DataLoader& operator=(const DataLoader&) { return *this; }
  virtual ~DataLoader() = default;

  // Returns `size` bytes at `offset` of the file.
  ET_NODISCARD virtual Result<FreeableBuffer> load(size_t offset, size_t size,
                                                   const SegmentInfo& segment_info) const = 0;
  // Reads `size` bytes at `offset` into `buffer`.
  ET_NODISCARD virtual Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info, void* buffer) const;
  // Returns the size of the file in bytes.
  ET_NODISCARD virtual Result<size_t> size() const = 0;

  // Returns the loader as the runtime's type. It is valid as long as this object.
  ::rushlight::DataLoader* native() { return &bridge_; }

 protected:
  // Returns InvalidArgument if `size` bytes at `offset` are not in the file.
  ET_NODISCARD Error check_range(size_t offset, size_t size) const;

 private:
  // Forwards the runtime's calls to the enclosing loader.
  class Bridge final : public ::rushlight::DataLoader {
   public:
    explicit Bridge(executorch::runtime::DataLoader& owner) : owner_(owner) {}
    Result<FreeableBuffer> load(size_t offset, size_t size, ::rushlight::SegmentKind kind) override;
    Result<size_t> size() const override { return owner_.size(); }
    Error load_into(size_t offset, size_t size, ::rushlight::SegmentKind kind, void* buffer) override;

   private:
    executorch::runtime::DataLoader& owner_;
  };
  Bridge bridge_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::DataLoader;
}  // namespace executor
}  // namespace torch
