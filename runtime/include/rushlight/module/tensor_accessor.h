#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/result.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Reads and writes the elements of a tensor of N dimensions by index: accessor[i][j]. It does not own the tensor. An
// index must be below the size of its dimension.
template <typename T, int64_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const SizesType* sizes, const StridesType* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  SizesType size(int64_t axis) const { return sizes_[axis]; }
  StridesType stride(int64_t axis) const { return strides_[axis]; }
  // The element, or the accessor of the remaining dimensions.
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1) {
      return (data_[strides_[0] * i]);
    } else {
      return TensorAccessor<T, N - 1>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }
  }

 private:
  T* data_;
  const SizesType* sizes_;
  const StridesType* strides_;
};

// Returns InvalidArgument unless the tensor has N dimensions and elements of the size of T.
template <typename T, int64_t N>
Result<TensorAccessor<T, N>> make_tensor_accessor(const Tensor& tensor) {
  static_assert(N > 0, "a tensor without dimensions has no accessor: use const_data_ptr<T>()");
  RL_REQUIRE(tensor.dim() == N, InvalidArgument, "an accessor of a tensor of %d dimensions cannot have %d dimensions",
             static_cast<int>(tensor.dim()), static_cast<int>(N));
  RL_REQUIRE(tensor.element_size() == sizeof(T), InvalidArgument,
             "an accessor of a tensor of dtype %s cannot have elements of %zu bytes", dtype_name(tensor.scalar_type()),
             sizeof(T));
  return TensorAccessor<T, N>(tensor.mutable_data_ptr<T>(), tensor.sizes().data(), tensor.strides().data());
}

}  // namespace rushlight
