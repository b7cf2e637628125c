#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/scalar_type.h"

// Lists of dtypes: each macro applies `_(C++ type, name)` to all dtypes of a group.
#define ET_FORALL_SCALAR_TYPES(_)                                       \
  _(uint8_t, Byte)                                                      \
  _(int8_t, Char)                                                       \
  _(int16_t, Short)                                                     \
  _(int32_t, Int)                                                       \
  _(int64_t, Long)                                                      \
  _(::executorch::aten::Half, Half)                                     \
  _(float, Float)                                                       \
  _(double, Double)                                                     \
  _(::executorch::aten::complex<::executorch::aten::Half>, ComplexHalf) \
  _(::executorch::aten::complex<float>, ComplexFloat)                   \
  _(::executorch::aten::complex<double>, ComplexDouble)                 \
  _(bool, Bool)                                                         \
  _(::executorch::aten::qint8, QInt8)                                   \
  _(::executorch::aten::quint8, QUInt8)                                 \
  _(::executorch::aten::qint32, QInt32)                                 \
  _(::executorch::aten::BFloat16, BFloat16)                             \
  _(::executorch::aten::quint4x2, QUInt4x2)                             \
  _(::executorch::aten::quint2x4, QUInt2x4)                             \
  _(uint16_t, UInt16)                                                   \
  _(uint32_t, UInt32)                                                   \
  _(uint64_t, UInt64)

#define ET_FORALL_INT_TYPES(_) \
  _(uint8_t, Byte)             \
  _(int8_t, Char)              \
  _(int16_t, Short)            \
  _(int32_t, Int)              \
  _(int64_t, Long)

#define ET_FORALL_FLOAT_TYPES(_) \
  _(float, Float)                \
  _(double, Double)

#define ET_FORALL_FLOATH_TYPES(_)   \
  _(::executorch::aten::Half, Half) \
  _(float, Float)                   \
  _(double, Double)

#define ET_FORALL_FLOATHBF16_TYPES(_)       \
  _(::executorch::aten::Half, Half)         \
  _(::executorch::aten::BFloat16, BFloat16) \
  _(float, Float)                           \
  _(double, Double)

#define ET_FORALL_REAL_TYPES(_) \
  _(uint8_t, Byte)              \
  _(int8_t, Char)               \
  _(int16_t, Short)             \
  _(int32_t, Int)               \
  _(int64_t, Long)              \
  _(float, Float)               \
  _(double, Double)

#define ET_FORALL_REALH_TYPES(_) \
  _(uint8_t, Byte)               \
  _(int8_t, Char)                \
  _(int16_t, Short)              \
  _(int32_t, Int)                \
  _(int64_t, Long)               \
  _(float, Float)                \
  _(double, Double)              \
  _(::executorch::aten::Half, Half)

#define ET_FORALL_REALHBF16_TYPES(_) \
  _(uint8_t, Byte)                   \
  _(int8_t, Char)                    \
  _(int16_t, Short)                  \
  _(int32_t, Int)                    \
  _(int64_t, Long)                   \
  _(float, Float)                    \
  _(double, Double)                  \
  _(::executorch::aten::Half, Half)  \
  _(::executorch::aten::BFloat16, BFloat16)

#define ET_FORALL_REALHBBF16_TYPES(_) \
  _(uint8_t, Byte)                    \
  _(int8_t, Char)                     \
  _(int16_t, Short)                   \
  _(int32_t, Int)                     \
  _(int64_t, Long)                    \
  _(float, Float)                     \
  _(double, Double)                   \
  _(::executorch::aten::Half, Half)   \
  _(bool, Bool)                       \
  _(::executorch::aten::BFloat16, BFloat16)

#define ET_FORALL_QINT_TYPES(_)             \
  _(::executorch::aten::qint8, QInt8)       \
  _(::executorch::aten::quint8, QUInt8)     \
  _(::executorch::aten::qint32, QInt32)     \
  _(::executorch::aten::quint4x2, QUInt4x2) \
  _(::executorch::aten::quint2x4, QUInt2x4)

#define ET_FORALL_COMPLEX_TYPES(_)                    \
  _(::executorch::aten::complex<float>, ComplexFloat) \
  _(::executorch::aten::complex<double>, ComplexDouble)

#define ET_FORALL_COMPLEXH_TYPES(_)                                     \
  _(::executorch::aten::complex<::executorch::aten::Half>, ComplexHalf) \
  _(::executorch::aten::complex<float>, ComplexFloat)                   \
  _(::executorch::aten::complex<double>, ComplexDouble)

#define ET_FORALL_INT_TYPES_AND(name_, _) \
  ET_FORALL_INT_TYPES(_)                  \
  ET_INTERNAL_FORALL_ONE(name_, _)
#define ET_FORALL_FLOAT_TYPES_AND(name_, _) \
  ET_FORALL_FLOAT_TYPES(_)                  \
  ET_INTERNAL_FORALL_ONE(name_, _)
#define ET_FORALL_FLOAT_TYPES_AND2(name_, other_, _) \
  ET_FORALL_FLOAT_TYPES_AND(name_, _)                \
  ET_INTERNAL_FORALL_ONE(other_, _)
#define ET_FORALL_REAL_TYPES_AND(name_, _) \
  ET_FORALL_REAL_TYPES(_)                  \
  ET_INTERNAL_FORALL_ONE(name_, _)
#define ET_FORALL_REAL_TYPES_AND2(name_, other_, _) \
  ET_FORALL_REAL_TYPES_AND(name_, _)                \
  ET_INTERNAL_FORALL_ONE(other_, _)
#define ET_FORALL_REAL_TYPES_AND3(name_, other_, third_, _) \
  ET_FORALL_REAL_TYPES_AND2(name_, other_, _)               \
  ET_INTERNAL_FORALL_ONE(third_, _)
#define ET_INTERNAL_FORALL_ONE(name_, _) \
  _(::executorch::runtime::ScalarTypeToCppType<::executorch::aten::ScalarType::name_>::type, name_)

namespace executorch {
namespace runtime {

// The C++ type of a dtype, and the dtype of a C++ type.
template <aten::ScalarType N>
struct ScalarTypeToCppType;
template <typename T>
struct CppTypeToScalarType;
#define ET_INTERNAL_MAP_TYPE(cpp_type, name)           \
  template <>                                          \
  struct ScalarTypeToCppType<aten::ScalarType::name> { \
    using type = cpp_type;                             \
  };                                                   \
  template <>                                          \
  struct CppTypeToScalarType<cpp_type> : std::integral_constant<aten::ScalarType, aten::ScalarType::name> {};
ET_FORALL_SCALAR_TYPES(ET_INTERNAL_MAP_TYPE)
#undef ET_INTERNAL_MAP_TYPE

template <typename T>
inline constexpr bool is_reduced_floating_point_v = std::is_same_v<T, aten::Half> || std::is_same_v<T, aten::BFloat16>;
template <typename T>
using is_reduced_floating_point = std::bool_constant<is_reduced_floating_point_v<T>>;

inline bool isValid(aten::ScalarType type) { return ::rushlight::element_size(type) != 0; }

// Returns the name of a dtype, for example "Float", or "UNKNOWN_SCALAR".
inline const char* toString(aten::ScalarType type) {
  switch (type) {
#define ET_INTERNAL_NAME_CASE(cpp_type, name) \
  case aten::ScalarType::name:                \
    return #name;
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_NAME_CASE)
#undef ET_INTERNAL_NAME_CASE
    default:
      return "UNKNOWN_SCALAR";
  }
}

// Returns the bytes of an element.
inline size_t elementSize(aten::ScalarType type) { return ::rushlight::element_size(type); }

constexpr bool isFloatingType(aten::ScalarType type) { return ::rushlight::is_floating(type); }
constexpr bool isComplexType(aten::ScalarType type) { return ::rushlight::is_complex(type); }
constexpr bool isIntegralType(aten::ScalarType type, bool includeBool) {
  return (type >= aten::ScalarType::Byte && type <= aten::ScalarType::Long) ||
         (includeBool && type == aten::ScalarType::Bool);
}
template <typename T, bool includeBool>
struct is_integral_type : std::bool_constant<isIntegralType(CppTypeToScalarType<T>::value, includeBool)> {};
constexpr bool isRealType(aten::ScalarType type) { return ::rushlight::dtypes::kReal.contains(type); }
constexpr bool isRealHType(aten::ScalarType type) { return isRealType(type) || type == aten::ScalarType::Half; }
constexpr bool isRealHBType(aten::ScalarType type) { return isRealHType(type) || type == aten::ScalarType::Bool; }
constexpr bool isRealHBF16Type(aten::ScalarType type) { return ::rushlight::dtypes::kRealH.contains(type); }
constexpr bool isRealHBBF16Type(aten::ScalarType type) { return ::rushlight::dtypes::kRealHB.contains(type); }
constexpr bool isQIntType(aten::ScalarType type) {
  return (type >= aten::ScalarType::QInt8 && type <= aten::ScalarType::QInt32) || type == aten::ScalarType::QUInt4x2 ||
         type == aten::ScalarType::QUInt2x4;
}
constexpr bool isBitsType(aten::ScalarType type) {
  return type >= aten::ScalarType::Bits1x8 && type <= aten::ScalarType::Bits16;
}
constexpr bool isFloat8Type(aten::ScalarType type) {
  return type >= aten::ScalarType::Float8_e5m2 && type <= aten::ScalarType::Float8_e4m3fnuz;
}
constexpr bool isBarebonesUnsignedType(aten::ScalarType type) { return ::rushlight::dtypes::kUnsigned.contains(type); }
inline bool isSignedType(aten::ScalarType type) {
  return type != aten::ScalarType::Byte && type != aten::ScalarType::Bool && !isBarebonesUnsignedType(type);
}

// Returns whether a result of type `from` may be written to a tensor of type `to`.
constexpr bool canCast(aten::ScalarType from, aten::ScalarType to) {
  if (isComplexType(from) && !isComplexType(to)) return false;
  if (isFloatingType(from) && isIntegralType(to, false)) return false;
  return !(from != aten::ScalarType::Bool && to == aten::ScalarType::Bool);
}

// Converts a number by the rules of C++; a float becomes true if it is not 0.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else {
    return static_cast<To>(value);
  }
}

// Returns the dtype to which torch promotes both dtypes. The function ends the process for dtypes without arithmetic.
// With `half_to_float`, a result of float16 becomes float32.
aten::ScalarType promoteTypes(aten::ScalarType a, aten::ScalarType b, bool half_to_float = false);

}  // namespace runtime
}  // namespace executorch

// Declares the same names in namespace torch::executor.
namespace torch {
namespace executor {
using ::executorch::runtime::canCast;
using ::executorch::runtime::convert;
using ::executorch::runtime::CppTypeToScalarType;
using ::executorch::runtime::elementSize;
using ::executorch::runtime::isBitsType;
using ::executorch::runtime::isComplexType;
using ::executorch::runtime::isFloatingType;
using ::executorch::runtime::isIntegralType;
using ::executorch::runtime::isQIntType;
using ::executorch::runtime::isRealHBType;
using ::executorch::runtime::isRealHType;
using ::executorch::runtime::isRealType;
using ::executorch::runtime::isValid;
using ::executorch::runtime::promoteTypes;
using ::executorch::runtime::ScalarTypeToCppType;
using ::executorch::runtime::toString;
}  // namespace executor
}  // namespace torch
namespace executorch {
namespace aten {
using ::executorch::runtime::elementSize;
using ::executorch::runtime::isIntegralType;
using ::executorch::runtime::promoteTypes;
using ::executorch::runtime::toString;
}  // namespace aten
}  // namespace executorch

// ET_SWITCH_REAL_TYPES(type, context, "op.out", CTYPE, [&] { ... CTYPE ... }) calls the function with CTYPE set to the
// C++ type of the dtype. For another dtype, it records InvalidArgument in the context.
#define ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ...)                             \
  [&] {                                                                          \
    const ::executorch::aten::ScalarType et_switch_type = (TYPE);                \
    [[maybe_unused]] constexpr const char* et_switch_name = (NAME);              \
    switch (et_switch_type) {                                                    \
      __VA_ARGS__                                                                \
      default:                                                                   \
        (CONTEXT).fail(::executorch::runtime::Error::InvalidArgument);           \
        ET_LOG(Error, "%s does not support tensors of dtype %s", et_switch_name, \
               ::executorch::runtime::toString(et_switch_type));                 \
    }                                                                            \
  }()
#define ET_INTERNAL_SWITCH_CASE(ENUM, CTYPE_ALIAS, ...)                                          \
  case ENUM: {                                                                                   \
    using CTYPE_ALIAS [[maybe_unused]] = ::executorch::runtime::ScalarTypeToCppType<ENUM>::type; \
    return __VA_ARGS__();                                                                        \
  }
#define ET_INTERNAL_CASE(NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH_CASE(::executorch::aten::ScalarType::NAME, CTYPE_ALIAS, __VA_ARGS__)

#define ET_INTERNAL_SWITCH_CASE_ALL_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)        \
  ET_INTERNAL_CASE(ComplexHalf, CTYPE_ALIAS, __VA_ARGS__)   \
  ET_INTERNAL_CASE(ComplexFloat, CTYPE_ALIAS, __VA_ARGS__)  \
  ET_INTERNAL_CASE(ComplexDouble, CTYPE_ALIAS, __VA_ARGS__) \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(QInt8, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(QUInt8, CTYPE_ALIAS, __VA_ARGS__)        \
  ET_INTERNAL_CASE(QInt32, CTYPE_ALIAS, __VA_ARGS__)        \
  ET_INTERNAL_CASE(BFloat16, CTYPE_ALIAS, __VA_ARGS__)      \
  ET_INTERNAL_CASE(QUInt4x2, CTYPE_ALIAS, __VA_ARGS__)      \
  ET_INTERNAL_CASE(QUInt2x4, CTYPE_ALIAS, __VA_ARGS__)      \
  ET_INTERNAL_CASE(UInt16, CTYPE_ALIAS, __VA_ARGS__)        \
  ET_INTERNAL_CASE(UInt32, CTYPE_ALIAS, __VA_ARGS__)        \
  ET_INTERNAL_CASE(UInt64, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_INT_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_UINT_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(UInt16, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(UInt32, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(UInt64, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_FLOAT_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_REAL_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_QINT_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(QInt8, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(QUInt8, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(QInt32, CTYPE_ALIAS, __VA_ARGS__)         \
  ET_INTERNAL_CASE(QUInt4x2, CTYPE_ALIAS, __VA_ARGS__)       \
  ET_INTERNAL_CASE(QUInt2x4, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_COMPLEX_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(ComplexFloat, CTYPE_ALIAS, __VA_ARGS__)      \
  ET_INTERNAL_CASE(ComplexDouble, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_COMPLEXH_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(ComplexHalf, CTYPE_ALIAS, __VA_ARGS__)        \
  ET_INTERNAL_CASE(ComplexFloat, CTYPE_ALIAS, __VA_ARGS__)       \
  ET_INTERNAL_CASE(ComplexDouble, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_REALH_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)             \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_REALHBF16_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)                \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)                \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)               \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)                \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)               \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)              \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)                \
  ET_INTERNAL_CASE(BFloat16, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_REALB_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)             \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)          \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_REALHB_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)             \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)             \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)              \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)             \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)             \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_REALHBBF16_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)                \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)                  \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)                \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)               \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(BFloat16, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_REALHBBF16_AND_UINT_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Byte, CTYPE_ALIAS, __VA_ARGS__)                          \
  ET_INTERNAL_CASE(Char, CTYPE_ALIAS, __VA_ARGS__)                          \
  ET_INTERNAL_CASE(Short, CTYPE_ALIAS, __VA_ARGS__)                         \
  ET_INTERNAL_CASE(Int, CTYPE_ALIAS, __VA_ARGS__)                           \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)                          \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)                         \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)                        \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)                          \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)                          \
  ET_INTERNAL_CASE(BFloat16, CTYPE_ALIAS, __VA_ARGS__)                      \
  ET_INTERNAL_CASE(UInt16, CTYPE_ALIAS, __VA_ARGS__)                        \
  ET_INTERNAL_CASE(UInt32, CTYPE_ALIAS, __VA_ARGS__)                        \
  ET_INTERNAL_CASE(UInt64, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_FLOATH_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)            \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)           \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_FLOATHBF16_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Float, CTYPE_ALIAS, __VA_ARGS__)                \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)               \
  ET_INTERNAL_CASE(Half, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(BFloat16, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)                 \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_REAL_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)                      \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_INTB_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)                      \
  ET_INTERNAL_CASE(Long, CTYPE_ALIAS, __VA_ARGS__)
#define ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_FLOATB_TYPES(CTYPE_ALIAS, ...) \
  ET_INTERNAL_CASE(Bool, CTYPE_ALIAS, __VA_ARGS__)                        \
  ET_INTERNAL_CASE(Double, CTYPE_ALIAS, __VA_ARGS__)

#define ET_SWITCH_ALL_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_ALL_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_INT_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_INT_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_UINT_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_UINT_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOAT_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_FLOAT_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REAL_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_REAL_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_QINT_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_QINT_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_COMPLEX_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_COMPLEX_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_COMPLEXH_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_COMPLEXH_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REALH_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_REALH_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REALHBF16_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_REALHBF16_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REALB_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_REALB_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REALHB_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_REALHB_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REALHBBF16_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_REALHBBF16_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REALHBBF16_AND_UINT_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_REALHBBF16_AND_UINT_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOATH_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_FLOATH_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOATHBF16_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_FLOATHBF16_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_SCALAR_OBJ_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_SCALAR_OBJ_REAL_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_REAL_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_SCALAR_OBJ_INTB_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_INTB_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_SCALAR_OBJ_FLOATB_TYPES(TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME, ET_INTERNAL_SWITCH_CASE_SCALAR_OBJ_FLOATB_TYPES(CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_INT_TYPES_AND(ADDITIONAL1, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                           \
                     ET_INTERNAL_SWITCH_CASE_INT_TYPES(CTYPE_ALIAS, __VA_ARGS__)    \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_INT_TYPES_AND2(ADDITIONAL1, ADDITIONAL2, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                         \
                     ET_INTERNAL_SWITCH_CASE_INT_TYPES(CTYPE_ALIAS, __VA_ARGS__)                  \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                  \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_INT_TYPES_AND3(ADDITIONAL1, ADDITIONAL2, ADDITIONAL3, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                                      \
                     ET_INTERNAL_SWITCH_CASE_INT_TYPES(CTYPE_ALIAS, __VA_ARGS__)                               \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                               \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__)                           \
                                 ET_INTERNAL_CASE(ADDITIONAL3, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOAT_TYPES_AND(ADDITIONAL1, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                             \
                     ET_INTERNAL_SWITCH_CASE_FLOAT_TYPES(CTYPE_ALIAS, __VA_ARGS__)    \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOAT_TYPES_AND2(ADDITIONAL1, ADDITIONAL2, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                           \
                     ET_INTERNAL_SWITCH_CASE_FLOAT_TYPES(CTYPE_ALIAS, __VA_ARGS__)                  \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                    \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOAT_TYPES_AND3(ADDITIONAL1, ADDITIONAL2, ADDITIONAL3, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                                        \
                     ET_INTERNAL_SWITCH_CASE_FLOAT_TYPES(CTYPE_ALIAS, __VA_ARGS__)                               \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                                 \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__)                             \
                                 ET_INTERNAL_CASE(ADDITIONAL3, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REAL_TYPES_AND(ADDITIONAL1, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                            \
                     ET_INTERNAL_SWITCH_CASE_REAL_TYPES(CTYPE_ALIAS, __VA_ARGS__)    \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REAL_TYPES_AND2(ADDITIONAL1, ADDITIONAL2, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                          \
                     ET_INTERNAL_SWITCH_CASE_REAL_TYPES(CTYPE_ALIAS, __VA_ARGS__)                  \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                   \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_REAL_TYPES_AND3(ADDITIONAL1, ADDITIONAL2, ADDITIONAL3, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                                       \
                     ET_INTERNAL_SWITCH_CASE_REAL_TYPES(CTYPE_ALIAS, __VA_ARGS__)                               \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                                \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__)                            \
                                 ET_INTERNAL_CASE(ADDITIONAL3, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOATHBF16_TYPES_AND(ADDITIONAL1, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                  \
                     ET_INTERNAL_SWITCH_CASE_FLOATHBF16_TYPES(CTYPE_ALIAS, __VA_ARGS__)    \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOATHBF16_TYPES_AND2(ADDITIONAL1, ADDITIONAL2, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                                \
                     ET_INTERNAL_SWITCH_CASE_FLOATHBF16_TYPES(CTYPE_ALIAS, __VA_ARGS__)                  \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                         \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FLOATHBF16_TYPES_AND3(ADDITIONAL1, ADDITIONAL2, ADDITIONAL3, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                                             \
                     ET_INTERNAL_SWITCH_CASE_FLOATHBF16_TYPES(CTYPE_ALIAS, __VA_ARGS__)                               \
                         ET_INTERNAL_CASE(ADDITIONAL1, CTYPE_ALIAS, __VA_ARGS__)                                      \
                             ET_INTERNAL_CASE(ADDITIONAL2, CTYPE_ALIAS, __VA_ARGS__)                                  \
                                 ET_INTERNAL_CASE(ADDITIONAL3, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_TWO_TYPES(T1, T2, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...) \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                  \
                     ET_INTERNAL_CASE(T1, CTYPE_ALIAS, __VA_ARGS__) ET_INTERNAL_CASE(T2, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_THREE_TYPES(T1, T2, T3, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...)                                   \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                                          \
                     ET_INTERNAL_CASE(T1, CTYPE_ALIAS, __VA_ARGS__) ET_INTERNAL_CASE(T2, CTYPE_ALIAS, __VA_ARGS__) \
                         ET_INTERNAL_CASE(T3, CTYPE_ALIAS, __VA_ARGS__))
#define ET_SWITCH_FOUR_TYPES(T1, T2, T3, T4, TYPE, CONTEXT, NAME, CTYPE_ALIAS, ...)                                \
  ET_INTERNAL_SWITCH(TYPE, CONTEXT, NAME,                                                                          \
                     ET_INTERNAL_CASE(T1, CTYPE_ALIAS, __VA_ARGS__) ET_INTERNAL_CASE(T2, CTYPE_ALIAS, __VA_ARGS__) \
                         ET_INTERNAL_CASE(T3, CTYPE_ALIAS, __VA_ARGS__)                                            \
                             ET_INTERNAL_CASE(T4, CTYPE_ALIAS, __VA_ARGS__))
