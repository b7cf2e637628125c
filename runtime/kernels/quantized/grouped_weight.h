// Quantized weights [rows, columns] with scales, and optional zero points, per row or per group of columns.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

struct GroupedWeight {
  const uint8_t* data = nullptr;
  int64_t row_stride = 0;  // bytes
  int bits = 8;            // bits per number: 8, 4 or 2
  bool is_unsigned = false;
  int64_t rows = 0, columns = 0;
  int64_t group = 1;       // columns that share a scale
  int64_t scale_step = 0;  // scales per row; 0 if all rows share them
  const double* scales = nullptr;
  const double* zeros = nullptr;  // may be null
  ScalarType scale_type = ScalarType::Float;

  // Returns the integer at (row, column).
  int32_t number(int64_t row, int64_t column) const {
    const uint8_t* const from = data + row * row_stride;
    if (bits == 4) return (column % 2 == 0 ? from[column / 2] >> 4 : from[column / 2] & 15) - 8;
    if (bits == 2) return (from[column / 4] >> column % 4 * 2 & 3) - 2;
    return is_unsigned ? from[column] : static_cast<int8_t>(from[column]);
  }
  int64_t part(int64_t row, int64_t column) const { return row * scale_step + column / group; }
  // Returns the dequantized number at (row, column), computed in the dtype of the scales.
  float real(int64_t row, int64_t column) const;
};

// Reads a weight [R, C * bits / 8] (row-major), scales [R], [1] or [R, G], and zero points of the same shape. If they
// do not fit together, records the failure and returns false.
bool read_weight(KernelRuntimeContext& context, const Tensor& weight, int bits, const Tensor& scales,
                 const std::optional<Tensor>& zero_points, GroupedWeight* result);

// Multiplies `in` [..., columns] by the transposed weight and adds the bias, with sums in float32. The shape of `out`
// is already set.
void dequantized_linear(KernelRuntimeContext& context, const Tensor& in, const GroupedWeight& weight,
                        const std::optional<Tensor>& bias, const Tensor& out);

}  // namespace rushlight::quantized
