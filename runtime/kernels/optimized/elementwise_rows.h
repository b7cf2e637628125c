#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/shared/loop_nest.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// A tensor, or one number instead of a tensor.
struct RowOperand {
  explicit RowOperand(const Tensor& from);
  // `number` has `size` bytes.
  RowOperand(const void* number, int64_t size)
      : data(static_cast<const uint8_t*>(number)), size(size), tensor(nullptr) {}

  const uint8_t* at(int64_t offset) const { return tensor ? data + offset * size : data; }

  const uint8_t* data;
  int64_t size;  // bytes of an element
  const Tensor* tensor;
};

// With fewer elements than this, a second thread makes a kernel slower.
inline constexpr int64_t kElementGrain = 16 * 1024;

// Sets out's shape to the broadcast shape of the operands.
bool resize_to_rows(KernelRuntimeContext& context, const Tensor& out,
                    std::initializer_list<const RowOperand*> operands);
// Makes loops over `out` and operands 1, 2, ... Returns false if, along the innermost loop, elements of `out` are not
// contiguous, or elements of an operand are neither contiguous nor broadcast.
bool make_element_rows(LoopNest* nest, const Tensor& out, std::initializer_list<const RowOperand*> operands);
// Returns the stride of an operand along a row: 1, or 0 if the operand is broadcast.
inline int64_t row_step(const LoopNest& nest, int operand) { return nest.dim == 0 ? 0 : nest.inner_stride(operand); }

}  // namespace rushlight::optimized
