#include "backends/xnnpack/quantized.h"

#include <cmath>

#include "rushlight/core/half.h"

namespace rushlight::xnnpack {
namespace {

template <typename T>
void scaled(const void* numbers, int64_t begin, int64_t end, int32_t zero, float scale, float* floats) {
  const T* from = static_cast<const T*>(numbers);
  for (int64_t i = begin; i < end; ++i) {
    floats[i] = static_cast<float>(static_cast<int32_t>(from[i]) - zero) * scale;
  }
}

// Dequantizes elements [begin, end). The zero point of 32-bit numbers is 0.
void to_reals(ScalarType dtype, const void* numbers, int64_t begin, int64_t end, int32_t zero, float scale,
              float* floats) {
  if (dtype == ScalarType::Byte) return scaled<uint8_t>(numbers, begin, end, zero, scale, floats);
  if (dtype == ScalarType::Char) return scaled<int8_t>(numbers, begin, end, zero, scale, floats);
  scaled<int32_t>(numbers, begin, end, 0, scale, floats);
}

float int4_at(const uint8_t* row, int64_t column) {
  const int number = column % 2 == 0 ? row[column / 2] & 15 : row[column / 2] >> 4;
  return static_cast<float>(number - 8);
}

}  // namespace

void constant_to_float(const Value& value, float* floats) {
  const Quantization& q = value.quantization;
  const int64_t count = value.shape.numel();
  if (q.by == Quantization::By::Tensor) return to_reals(value.dtype, value.constant, 0, count, q.zero, q.scale, floats);
  if (value.is_int4) {
    const int64_t columns = value.shape.last(), rows = count / columns;
    for (int64_t i = 0; i < rows; ++i) {
      const uint8_t* row = static_cast<const uint8_t*>(value.constant) + i * ((columns + 1) / 2);
      for (int64_t j = 0; j < columns; ++j) floats[i * columns + j] = int4_at(row, j);
    }
    if (q.by == Quantization::By::Group) {
      const uint16_t* scales = static_cast<const uint16_t*>(q.scales);
      for (int64_t i = 0; i < count; ++i) floats[i] *= detail::bfloat16_to_float(scales[i / q.group]);
      return;
    }
  } else {
    to_reals(value.dtype, value.constant, 0, count, 0, 1.0f, floats);
  }
  int64_t inner = 1;
  for (uint32_t axis = q.axis + 1; axis < value.shape.rank; ++axis) inner *= value.shape.dims[axis];
  const float* scales = static_cast<const float*>(q.scales);
  for (int64_t i = 0; i < count; ++i) floats[i] *= scales[i / inner % value.shape.dims[q.axis]];
}

void expand_int4(const Value& value, int8_t* numbers) {
  const int64_t columns = value.shape.last(), rows = value.shape.numel() / columns;
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t* row = static_cast<const uint8_t*>(value.constant) + i * ((columns + 1) / 2);
    for (int64_t j = 0; j < columns; ++j) numbers[i * columns + j] = static_cast<int8_t>(int4_at(row, j));
  }
}

void numbers_to_float(const Value& value, const Operand& operand, float* floats) {
  const Quantization& q = value.quantization;
  if (q.by != Quantization::By::Row) {
    return to_reals(value.dtype, operand.data, 0, operand.numel(), q.zero, q.scale, floats);
  }
  const int64_t size = operand.row_size();
  for (int64_t i = 0; i < operand.rows(); ++i) {
    to_reals(value.dtype, operand.data, i * size, (i + 1) * size, operand.row_zeros()[i], operand.row_scales()[i],
             floats);
  }
}

void numbers_from_float(const Value& value, const float* floats, int64_t count, void* numbers) {
  const float inverse = 1.0f / value.quantization.scale;
  const bool is_signed = value.dtype == ScalarType::Char;
  const int32_t zero = value.quantization.zero;
  const float least = static_cast<float>((is_signed ? -128 : 0) - zero);
  const float most = static_cast<float>((is_signed ? 127 : 255) - zero);
  uint8_t* to = static_cast<uint8_t*>(numbers);
  for (int64_t i = 0; i < count; ++i) {
    float x = floats[i] * inverse;
    x = x > least ? x : least;
    x = x < most ? x : most;
    to[i] = static_cast<uint8_t>(static_cast<int32_t>(std::nearbyint(x)) + zero);
  }
}

int32_t quantize_bound(const Quantization& quantization, float bound, int32_t least, int32_t most) {
  const float x = std::nearbyint(bound / quantization.scale) + static_cast<float>(quantization.zero);
  if (!(x > static_cast<float>(least))) return least;
  return x < static_cast<float>(most) ? static_cast<int32_t>(x) : most;
}

}  // namespace rushlight::xnnpack
