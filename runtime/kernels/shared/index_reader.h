#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Reads positions from a tensor of int32 or int64.
class IndexReader {
 public:
  IndexReader() = default;
  explicit IndexReader(const Tensor& tensor)
      : data_(tensor.const_data_ptr()), wide_(tensor.scalar_type() == ScalarType::Long) {}
  explicit IndexReader(const int64_t* data) : data_(data), wide_(true) {}
  explicit IndexReader(const int32_t* data) : data_(data), wide_(false) {}
  int64_t operator[](int64_t element) const {
    return wide_ ? static_cast<const int64_t*>(data_)[element] : static_cast<const int32_t*>(data_)[element];
  }

 private:
  const void* data_ = nullptr;
  bool wide_ = true;
};

inline bool is_index_type(ScalarType type) { return type == ScalarType::Long || type == ScalarType::Int; }

// Records the failure and returns false unless `index` has int32 or int64 elements, each in [least, size).
bool require_indices(KernelRuntimeContext& context, const Tensor& index, int64_t least, int64_t size);

}  // namespace rushlight
