#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/shared/loop_nest.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// A tensor, or one number in its place.
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

// Elements that one thread computes sooner than it hands half of them to another.
inline constexpr int64_t kElementGrain = 16 * 1024;

// Sets out's shape to that to which the operands broadcast.
bool resize_to_rows(KernelRuntimeContext& context, const Tensor& out,
                    std::initializer_list<const RowOperand*> operands);
// Loops over `out` and operands 1, 2, ...; false if elements along the innermost are not adjacent in `out`, or neither
// adjacent nor one in an operand.
bool make_element_rows(LoopNest* nest, const Tensor& out, std::initializer_list<const RowOperand*> operands);
// From element to element of a row: 1 or 0.
inline int64_t row_step(const LoopNest& nest, int operand) { return nest.dim == 0 ? 0 : nest.inner_stride(operand); }

}  // namespace rushlight::optimized
