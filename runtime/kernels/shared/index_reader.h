#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

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

// Returns whether n contiguous positions are all within [lower, size), lower <= 0. Also returns false if lower is not 0
// and T cannot represent size - lower. The loop has no branches, because it collects the signs of sums and differences.
template <typename T>
bool indices_fit(const T* positions, int64_t n, int64_t lower, int64_t size) {
  using Bits = std::make_unsigned_t<T>;
  constexpr int64_t kMax = std::numeric_limits<T>::max();
  if (size <= lower) return n == 0;
  const auto last = static_cast<Bits>(size - lower - 1 < kMax ? size - lower - 1 : kMax);
  const auto shift = static_cast<Bits>(-lower);
  Bits signs = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto position = static_cast<Bits>(static_cast<Bits>(positions[i]) + shift);
    signs |= position | static_cast<Bits>(last - position);
  }
  return static_cast<T>(signs) >= 0;
}

// Records the failure and returns false unless `index` has int32 or int64 elements, each in [lower, size).
bool require_indices(KernelRuntimeContext& context, const Tensor& index, int64_t lower, int64_t size);

}  // namespace rushlight
