#include "python/dlpack.h"

namespace rushlight::python {

namespace {

struct Row {
  ScalarType scalar_type;
  uint8_t code;
  uint8_t bits;
};

constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;
constexpr uint8_t kFloat8_e4m3fn = 10, kFloat8_e4m3fnuz = 11, kFloat8_e5m2 = 12, kFloat8_e5m2fnuz = 13;

constexpr Row kRows[] = {
    {ScalarType::Float, kFloat, 32},
    {ScalarType::Long, kInt, 64},
    {ScalarType::Int, kInt, 32},
    {ScalarType::Short, kInt, 16},
    {ScalarType::Char, kInt, 8},
    {ScalarType::Byte, kUInt, 8},
    {ScalarType::Bool, kBool, 8},
    {ScalarType::Half, kFloat, 16},
    {ScalarType::BFloat16, kBfloat, 16},
    {ScalarType::Double, kFloat, 64},
    {ScalarType::UInt16, kUInt, 16},
    {ScalarType::UInt32, kUInt, 32},
    {ScalarType::UInt64, kUInt, 64},
    {ScalarType::ComplexHalf, kComplex, 32},
    {ScalarType::ComplexFloat, kComplex, 64},
    {ScalarType::ComplexDouble, kComplex, 128},
    {ScalarType::Float8_e4m3fn, kFloat8_e4m3fn, 8},
    {ScalarType::Float8_e4m3fnuz, kFloat8_e4m3fnuz, 8},
    {ScalarType::Float8_e5m2, kFloat8_e5m2, 8},
    {ScalarType::Float8_e5m2fnuz, kFloat8_e5m2fnuz, 8},
};

}  // namespace

bool scalar_type_of_dl(DlDataType type, ScalarType* out) {
  if (type.lanes != 1) return false;
  for (const Row& row : kRows) {
    if (row.code == type.code && row.bits == type.bits) {
      *out = row.scalar_type;
      return true;
    }
  }
  return false;
}

DlDataType dl_type_of(ScalarType type) {
  for (const Row& row : kRows) {
    if (row.scalar_type == type) return {row.code, row.bits, 1};
  }
  return {kUInt, static_cast<uint8_t>(8 * element_size(type)), 1};
}

}  // namespace rushlight::python
