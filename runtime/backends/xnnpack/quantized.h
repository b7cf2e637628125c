#pragma once

#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Dequantizes a constant to floats of the same shape. Call it only while steps are made, because scales per channel or
// group are freed afterwards.
void constant_to_float(const Value& value, float* floats);
// Expands a 4-bit constant to int8 [rows, columns].
void expand_int4(const Value& value, int8_t* numbers);

// Dequantizes a value with one scale, or with a scale per row.
void numbers_to_float(const Value& value, const Operand& operand, float* floats);
// Quantizes `count` floats with the one scale of `value`, rounding to nearest, ties to even.
void numbers_from_float(const Value& value, const float* floats, int64_t count, void* numbers);

// Chooses the scale and zero point of a row of int8 numbers from the smallest and the largest number of the row.
void choose_row_scale(float least, float most, float* scale, int32_t* zero);

// Returns the quantized number for a bound of a clamp, limited to [least, most].
int32_t quantize_bound(const Quantization& quantization, float bound, int32_t least, int32_t most);

}  // namespace rushlight::xnnpack
