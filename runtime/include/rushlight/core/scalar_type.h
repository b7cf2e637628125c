#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/half.h"

namespace rushlight {

// The dtype of a tensor. The values are equal to c10::ScalarType and to the dtypes of the file format.
enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  QUInt4x2 = 16,
  QUInt2x4 = 17,
  Bits1x8 = 18,
  Bits2x4 = 19,
  Bits4x2 = 20,
  Bits8 = 21,
  Bits16 = 22,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  Float8_e5m2fnuz = 25,
  Float8_e4m3fnuz = 26,
  UInt16 = 27,
  UInt32 = 28,
  UInt64 = 29,
};

inline constexpr int kScalarTypeCount = 30;

// Returns the bytes of one element, or 0 for an unknown value.
constexpr size_t element_size(ScalarType type) {
  constexpr uint8_t sizes[kScalarTypeCount] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
                                               2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1,  1, 2, 4, 8};
  const int index = static_cast<int>(type);
  return index >= 0 && index < kScalarTypeCount ? sizes[index] : 0;
}

// Returns torch's name of a dtype, for example "float32", or "?" for an unknown value.
[[gnu::const]] const char* dtype_name(ScalarType type) noexcept;

// Returns whether a dtype is a real floating-point type.
constexpr bool is_floating(ScalarType type) {
  return type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::Half ||
         type == ScalarType::BFloat16;
}
// Returns whether a dtype is a complex type.
constexpr bool is_complex(ScalarType type) {
  return type == ScalarType::ComplexHalf || type == ScalarType::ComplexFloat || type == ScalarType::ComplexDouble;
}
// Returns whether a dtype is an integer type. Bool is not.
constexpr bool is_integral(ScalarType type) {
  return (type >= ScalarType::Byte && type <= ScalarType::Long) ||
         (type >= ScalarType::UInt16 && type <= ScalarType::UInt64);
}

// A set of dtypes, one bit each.
class DtypeSet {
 public:
  constexpr DtypeSet() = default;
  template <typename... Types>
  constexpr explicit DtypeSet(ScalarType first, Types... rest) : bits_((bit(first) | ... | bit(rest))) {}
  // Returns whether the set contains a dtype; false for an unknown value.
  constexpr bool contains(ScalarType type) const {
    const int index = static_cast<int>(type);
    return index >= 0 && index < kScalarTypeCount && (bits_ & bit(type)) != 0;
  }
  constexpr DtypeSet operator|(DtypeSet other) const { return DtypeSet(bits_ | other.bits_); }
  constexpr uint32_t bits() const { return bits_; }

 private:
  constexpr explicit DtypeSet(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(ScalarType type) { return 1u << static_cast<int>(type); }
  uint32_t bits_ = 0;
};

// Sets of dtypes for kernel tables.
namespace dtypes {
inline constexpr DtypeSet kInt{ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int,
                               ScalarType::Long};
inline constexpr DtypeSet kBool{ScalarType::Bool};
inline constexpr DtypeSet kHalf{ScalarType::Half, ScalarType::BFloat16};
inline constexpr DtypeSet kFloat{ScalarType::Float, ScalarType::Double};
inline constexpr DtypeSet kFloatH = kFloat | kHalf;  // float16, bfloat16, float32, float64
inline constexpr DtypeSet kReal = kInt | kFloat;     // integers, float32, float64
inline constexpr DtypeSet kRealH = kInt | kFloatH;   // kReal, float16 and bfloat16
inline constexpr DtypeSet kRealHB = kRealH | kBool;  // kRealH and bool
inline constexpr DtypeSet kComplex{ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble};
inline constexpr DtypeSet kIndex{ScalarType::Int, ScalarType::Long};
inline constexpr DtypeSet kMask{ScalarType::Bool, ScalarType::Byte};
inline constexpr DtypeSet kUnsigned{ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64};
inline constexpr DtypeSet kAll = kRealHB | kComplex | kUnsigned;
}  // namespace dtypes

// scalar_type_of<T> is the dtype of the C++ type T.
template <typename T>
struct ScalarTypeOf;
#define RL_SCALAR_TYPE_OF(cpp, name)                      \
  template <>                                             \
  struct ScalarTypeOf<cpp> {                              \
    static constexpr ScalarType value = ScalarType::name; \
  }
RL_SCALAR_TYPE_OF(uint8_t, Byte);
RL_SCALAR_TYPE_OF(int8_t, Char);
RL_SCALAR_TYPE_OF(int16_t, Short);
RL_SCALAR_TYPE_OF(int32_t, Int);
RL_SCALAR_TYPE_OF(int64_t, Long);
RL_SCALAR_TYPE_OF(Half, Half);
RL_SCALAR_TYPE_OF(float, Float);
RL_SCALAR_TYPE_OF(double, Double);
RL_SCALAR_TYPE_OF(bool, Bool);
RL_SCALAR_TYPE_OF(BFloat16, BFloat16);
RL_SCALAR_TYPE_OF(uint16_t, UInt16);
RL_SCALAR_TYPE_OF(uint32_t, UInt32);
RL_SCALAR_TYPE_OF(uint64_t, UInt64);
#undef RL_SCALAR_TYPE_OF
template <typename T>
inline constexpr ScalarType scalar_type_of = ScalarTypeOf<T>::value;

// Other tensor attributes that are operator arguments. The values are equal to the enums of c10.
enum class Layout : int8_t { Strided = 0 };
enum class MemoryFormat : int8_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2, ChannelsLast3d = 3 };

}  // namespace rushlight
