#pragma once

#include <cstdint>
#include <initializer_list>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// A shape that owns its sizes. An invalid size is stored as -1; a rank above kMaxDim is stored unchanged. resize_out()
// fails for both.
struct Shape {
  SizesType sizes[kMaxDim];  // [dim]
  int dim = 0;

  Shape() = default;
  explicit Shape(Span<const SizesType> from) {
    for (const SizesType size : from) push(size);
  }
  void push(int64_t size) {
    if (dim < kMaxDim) set(dim, size);
    ++dim;
  }
  void set(int64_t axis, int64_t size) {
    sizes[axis] = size < 0 || size > INT32_MAX ? -1 : static_cast<SizesType>(size);
  }
  Span<const SizesType> span() const { return {sizes, static_cast<size_t>(dim)}; }
};

// Sets the shape of `out`. If this fails, records the failure and returns false; the functions below do the same.
bool resize_out(KernelRuntimeContext& context, const Tensor& out, Span<const SizesType> sizes);
bool resize_out(KernelRuntimeContext& context, const Tensor& out, std::initializer_list<int64_t> sizes);
// Sets the shape of `out` to the shape of `like`.
bool resize_out_like(KernelRuntimeContext& context, const Tensor& out, const Tensor& like);

// Broadcasts `shape` with `sizes`. The result replaces `shape`.
bool broadcast_shape(KernelRuntimeContext& context, Shape& shape, Span<const SizesType> sizes);

// Checks that a result of dtype `from` may be written into `out`.
bool require_cast(KernelRuntimeContext& context, ScalarType from, const Tensor& out);

// Converts `axis` from [-rank, rank) to [0, rank). A rank of 0 is treated as 1.
bool normalize_dim(KernelRuntimeContext& context, int64_t axis, int64_t rank, int64_t* result);

inline uint8_t* at(const Tensor& tensor, int64_t element) {
  return tensor.mutable_data_ptr<uint8_t>() + element * static_cast<int64_t>(tensor.element_size());
}

}  // namespace rushlight
