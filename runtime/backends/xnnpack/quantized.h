#pragma once

#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Dequantizes a constant to floats of its shape. The scales of channels and groups are available while steps are made.
void constant_to_float(const Value& value, float* floats);
// Expands a constant of 4-bit numbers to int8 [rows, columns].
void expand_int4(const Value& value, int8_t* numbers);

// Dequantizes a value with one scale, or with scales by row.
void numbers_to_float(const Value& value, const Operand& operand, float* floats);
// Quantizes `count` floats to a value with one scale, rounded to nearest, ties to even.
void numbers_from_float(const Value& value, const float* floats, int64_t count, void* numbers);

// Chooses scale and zero point of a row of int8 numbers with these bounds.
void choose_row_scale(float least, float most, float* scale, int32_t* zero);

// Returns the quantized number of a bound, clamped to [least, most].
int32_t quantize_bound(const Quantization& quantization, float bound, int32_t least, int32_t most);

}  // namespace rushlight::xnnpack
