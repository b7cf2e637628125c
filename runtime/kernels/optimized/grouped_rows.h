#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/convert.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Rows of quantized weights whose groups have float32 scales, and perhaps zero points, made real one at a time.
struct GroupedRows {
  const uint8_t* data;
  int64_t row_stride;  // bytes
  int bits;            // 8 or 4
  uint8_t sign_mask;   // bytes XOR sign_mask are int8
  int64_t rows, columns, group;
  int64_t scale_step;  // from row to row; 0 if all share one
  const float* scales;
  const void* zeros;  // or null
  Convert load_zero;
  int64_t zero_size;

  void read(int64_t row, float* to) const;
};

// False where the tensors are not such a weight, or lie otherwise than in row-major order.
bool read_rows(const Tensor& weight, int bits, const Tensor& scales, const std::optional<Tensor>& zero_points,
               GroupedRows* result);

// `in` [..., columns] in row-major order times the weight transposed, plus bias. `out` has its shape already.
void linear_of_rows(KernelRuntimeContext& context, const Tensor& in, const GroupedRows& weight,
                    const std::optional<Tensor>& bias, const Tensor& out);

}  // namespace rushlight::optimized
