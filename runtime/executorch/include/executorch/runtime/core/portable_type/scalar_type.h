#pragma once

#include "rushlight/core/half.h"
#include "rushlight/core/scalar_type.h"

namespace executorch {
namespace runtime {
namespace etensor {

using ScalarType = ::rushlight::ScalarType;
using Half = ::rushlight::Half;
using BFloat16 = ::rushlight::BFloat16;
using Layout = ::rushlight::Layout;
using MemoryFormat = ::rushlight::MemoryFormat;

// A complex number: a real part and an imaginary part of type T.
template <typename T>
struct alignas(sizeof(T) * 2) complex {
  T real_ = T(0);
  T imag_ = T(0);
};
// Elements of quantized types.
struct alignas(1) qint8 {
  using underlying = int8_t;
  int8_t val_;
};
struct alignas(1) quint8 {
  using underlying = uint8_t;
  uint8_t val_;
};
struct alignas(4) qint32 {
  using underlying = int32_t;
  int32_t val_;
};
struct alignas(1) quint4x2 {
  using underlying = uint8_t;
  uint8_t val_;
};
struct alignas(1) quint2x4 {
  using underlying = uint8_t;
  uint8_t val_;
};
struct alignas(1) bits1x8 {
  using underlying = uint8_t;
  uint8_t val_;
};
struct alignas(1) bits2x4 {
  using underlying = uint8_t;
  uint8_t val_;
};
struct alignas(1) bits4x2 {
  using underlying = uint8_t;
  uint8_t val_;
};
struct alignas(1) bits8 {
  using underlying = uint8_t;
  uint8_t val_;
};
struct alignas(2) bits16 {
  using underlying = uint16_t;
  uint16_t val_;
};

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::BFloat16;
using ::executorch::runtime::etensor::complex;
using ::executorch::runtime::etensor::Half;
using ::executorch::runtime::etensor::Layout;
using ::executorch::runtime::etensor::MemoryFormat;
using ::executorch::runtime::etensor::qint32;
using ::executorch::runtime::etensor::qint8;
using ::executorch::runtime::etensor::quint2x4;
using ::executorch::runtime::etensor::quint4x2;
using ::executorch::runtime::etensor::quint8;
using ::executorch::runtime::etensor::ScalarType;
}  // namespace executor
}  // namespace torch
