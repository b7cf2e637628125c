#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/shared/loop_nest.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

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
// A part of the result, and the elements of the operands for it. A step is 1 or 0. At least one step is 1, unless n is
// 1.
struct ElementRow {
  const uint8_t* in[3];
  int64_t step[3];
  uint8_t* out;
  int64_t n;
};

struct ElementRowFunction {
  void (*call)(const void* function, const ElementRow& row);
  const void* function;
};

// See for_element_rows().
bool run_element_rows(KernelRuntimeContext& context, const Tensor& out,
                      std::initializer_list<const RowOperand*> operands, int64_t grain,
                      const ElementRowFunction& function);

// Calls row(ElementRow) for all elements of `out`, whose shape is already set, on several threads. There are two or
// three operands. Returns false if, along the innermost loop, elements of `out` are not contiguous, or elements of an
// operand are neither contiguous nor broadcast.
template <typename Row>
bool for_element_rows(KernelRuntimeContext& context, const Tensor& out,
                      std::initializer_list<const RowOperand*> operands, int64_t grain, const Row& row) {
  return run_element_rows(context, out, operands, grain,
                          {[](const void* f, const ElementRow& part) { (*static_cast<const Row*>(f))(part); }, &row});
}

}  // namespace rushlight
