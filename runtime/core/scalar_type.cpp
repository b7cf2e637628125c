#include "rushlight/core/scalar_type.h"

namespace rushlight {

const char* dtype_name(ScalarType type) noexcept {
  static const char* const names[kScalarTypeCount] = {"uint8",           "int8",
                                                      "int16",           "int32",
                                                      "int64",           "float16",
                                                      "float32",         "float64",
                                                      "complex32",       "complex64",
                                                      "complex128",      "bool",
                                                      "qint8",           "quint8",
                                                      "qint32",          "bfloat16",
                                                      "quint4x2",        "quint2x4",
                                                      "bits1x8",         "bits2x4",
                                                      "bits4x2",         "bits8",
                                                      "bits16",          "float8_e5m2",
                                                      "float8_e4m3fn",   "float8_e5m2fnuz",
                                                      "float8_e4m3fnuz", "uint16",
                                                      "uint32",          "uint64"};
  const int index = static_cast<int>(type);
  return index >= 0 && index < kScalarTypeCount ? names[index] : "?";
}

}  // namespace rushlight
