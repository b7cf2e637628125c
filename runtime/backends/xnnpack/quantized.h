#pragma once

#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// Scales of channels or groups must still be there, as they are while steps are made.
void constant_to_float(const Value& value, float* floats);
// Bytes of constant nibbles as int8, [rows, columns].
void expand_int4(const Value& value, int8_t* numbers);

// A value with one scale, or with scales by row.
void numbers_to_float(const Value& value, const Operand& operand, float* floats);
// Rounded to nearest, ties to even. The value has one scale.
void numbers_from_float(const Value& value, const float* floats, int64_t count, void* numbers);

// Scale and zero point of a row of int8 numbers with these bounds.
void choose_row_scale(float least, float most, float* scale, int32_t* zero);

// The number that stands for a bound, clamped to [least, most].
int32_t quantize_bound(const Quantization& quantization, float bound, int32_t least, int32_t most);

}  // namespace rushlight::xnnpack
