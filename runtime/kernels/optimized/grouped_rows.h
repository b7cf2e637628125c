#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/convert.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::optimized {

// Quantized weights with float32 scales and optional zero points per group. read() dequantizes one row.
struct GroupedRows {
  const uint8_t* data;
  int64_t row_stride;  // bytes
  int bits;            // 8 or 4
  uint8_t sign_mask;   // byte XOR sign_mask is an int8 number
  int64_t rows, columns, group;
  int64_t scale_step;  // scales per row; 0 if all rows share one
  const float* scales;
  const void* zeros;  // may be null
  Convert load_zero;
  int64_t zero_size;

  void read(int64_t row, float* to) const;
};

// Fills `result`. Returns false if the tensors are not a weight of this kind, or are not row-major.
bool read_rows(const Tensor& weight, int bits, const Tensor& scales, const std::optional<Tensor>& zero_points,
               GroupedRows* result);

// Computes `in` [..., columns] (row-major) times the transposed weight, plus bias. The shape of `out` is already set.
void grouped_linear(KernelRuntimeContext& context, const Tensor& in, const GroupedRows& weight,
                    const std::optional<Tensor>& bias, const Tensor& out);

}  // namespace rushlight::optimized
