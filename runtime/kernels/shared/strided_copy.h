#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// Nested loops over elements of a source and a destination. Strides are in elements and may be negative; a source
// stride may be 0. Different positions have different destination elements.
class StridedLoops {
 public:
  static constexpr int kMaxLoops = 2 * kMaxDim;
  StridedLoops() = default;
  // Copies only the used entries, because strided_copy() takes the loops by value.
  StridedLoops(const StridedLoops& other) : count_(other.count_) {
    for (int i = 0; i < count_; ++i) loops_[i] = other.loops_[i];
  }
  StridedLoops& operator=(const StridedLoops&) = delete;
  struct Loop {
    int64_t size, src, dst;
  };
  void add(int64_t size, int64_t src_stride, int64_t dst_stride) { loops_[count_++] = {size, src_stride, dst_stride}; }
  int count() const { return count_; }
  const Loop& operator[](int i) const { return loops_[i]; }
  // Returns the total number of iterations.
  int64_t numel() const;
  // Sorts the loops by destination stride, outermost first, and merges loops if the strides of both sides allow it.
  void normalize();

 private:
  Loop loops_[kMaxLoops];
  int count_ = 0;
};

// Copies elements of 1, 2, 4, 8 or 16 bytes: contiguous ranges by memmove, transposes block by block, on several
// threads if this is faster.
void strided_copy(KernelRuntimeContext& context, StridedLoops loops, const void* src, void* dst, size_t element_size);

// Returns the loops over all elements of `sizes`. Both tensors must have the same number of axes.
StridedLoops loops_over(Span<const SizesType> sizes, Span<const StridesType> src, Span<const StridesType> dst);

// Copies `in` to `out`, which has the same shape and element size. The dim orders may differ.
void copy_elements(KernelRuntimeContext& context, const Tensor& in, const Tensor& out);

// Copies `count` elements. Positions count in row-major order of the axes in both tensors, for any dim orders.
void copy_row_major(KernelRuntimeContext& context, const Tensor& in, int64_t in_first, const Tensor& out,
                    int64_t out_first, int64_t count);

// Does the same for all elements of `in` and `out`, which have the same number of elements.
void copy_reshaped(KernelRuntimeContext& context, const Tensor& in, const Tensor& out);

}  // namespace rushlight
