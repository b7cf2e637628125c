#pragma once

#include "kernels/shared/complex.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar.h"
#include "rushlight/core/scalar_type.h"

namespace rushlight {

template <typename T>
struct TypeTag {
  using type = T;
};

// Returns whether this build compiles kernels for a dtype. A selective build defines its dtypes as a bit set; the bit
// number is the number of the ScalarType.
constexpr bool is_built([[maybe_unused]] ScalarType dtype) {
#if defined(RUSHLIGHT_DTYPES)
  return ((RUSHLIGHT_DTYPES >> static_cast<int>(dtype)) & 1u) != 0;
#else
  return true;
#endif
}

namespace detail {

template <typename T, const DtypeSet& allowed, typename Body>
bool dtype_case(ScalarType type, Body& body) {
  if constexpr (allowed.contains(scalar_type_of<T>) && is_built(scalar_type_of<T>)) {
    if (type == scalar_type_of<T>) {
      body(TypeTag<T>{});
      return true;
    }
  }
  return false;
}

template <const DtypeSet& allowed, typename Body, typename... Types>
bool dtype_cases(ScalarType type, Body& body, TypeTag<Types>...) {
  return (dtype_case<Types, allowed>(type, body) || ...);
}

}  // namespace detail

// Calls body(TypeTag<T>{}) with the C++ type T of `type`. Fails if the type is not in `allowed`.
//   switch_dtype<dtypes::kRealHB>(context, out.scalar_type(), [&](auto tag) { using T = typename decltype(tag)::type;
//   });
template <const DtypeSet& allowed, typename Body>
void switch_dtype(KernelRuntimeContext& context, ScalarType type, Body&& body) {
  if (!detail::dtype_cases<allowed>(type, body, TypeTag<float>{}, TypeTag<Half>{}, TypeTag<BFloat16>{},
                                    TypeTag<double>{}, TypeTag<int64_t>{}, TypeTag<int32_t>{}, TypeTag<int16_t>{},
                                    TypeTag<int8_t>{}, TypeTag<uint8_t>{}, TypeTag<bool>{}, TypeTag<ComplexFloat>{},
                                    TypeTag<ComplexHalf>{}, TypeTag<ComplexDouble>{}, TypeTag<uint16_t>{},
                                    TypeTag<uint32_t>{}, TypeTag<uint64_t>{})) {
    context.fail(Error::InvalidType, "elements of %s are not supported", dtype_name(type));
  }
}

// An element of 16 bytes, which kernels only copy.
struct alignas(8) Bytes16 {
  uint64_t words[2];
};

// Whether a dtype of this build has elements of `size` bytes.
constexpr bool is_built_size(size_t size) {
  for (int i = 0; i < kScalarTypeCount; ++i) {
    const auto dtype = static_cast<ScalarType>(i);
    if (is_built(dtype) && element_size(dtype) == size) return true;
  }
  return false;
}

namespace detail {

template <typename T, typename Body>
bool size_case(size_t size, Body& body) {
  if constexpr (is_built_size(sizeof(T))) {
    if (size == sizeof(T)) {
      body(TypeTag<T>{});
      return true;
    }
  }
  return false;
}

}  // namespace detail

// Calls body(TypeTag<T>{}) with a trivial type T of `size` bytes, for kernels that only copy elements.
template <typename Body>
void switch_element_size(KernelRuntimeContext& context, size_t size, Body&& body) {
  if (!detail::size_case<uint8_t>(size, body) && !detail::size_case<uint16_t>(size, body) &&
      !detail::size_case<uint32_t>(size, body) && !detail::size_case<uint64_t>(size, body) &&
      !detail::size_case<Bytes16>(size, body)) {
    context.fail(Error::InvalidType, "elements of %zu bytes are not supported", size);
  }
}

// Returns the dtype in which numbers of a dtype are computed: int64_t for integers and bool, float for float16 and
// bfloat16. Integer results are computed in int64_t and then narrowed; this equals wrapping arithmetic in the narrow
// type.
constexpr ScalarType compute_type(ScalarType type) {
  switch (type) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float:
      return ScalarType::Float;
    case ScalarType::Double:
      return ScalarType::Double;
    case ScalarType::ComplexHalf:
    case ScalarType::ComplexFloat:
      return ScalarType::ComplexFloat;
    case ScalarType::ComplexDouble:
      return ScalarType::ComplexDouble;
    default:
      return ScalarType::Long;
  }
}

// The sets of compute types for which a kernel is compiled.
namespace kinds {
inline constexpr unsigned kInteger = 1;
inline constexpr unsigned kFloating = 2;
inline constexpr unsigned kComplex = 4;
inline constexpr unsigned kReal = kInteger | kFloating;
inline constexpr unsigned kAll = kReal | kComplex;
}  // namespace kinds

// Whether a dtype of this build is computed in the compute type `type`.
constexpr bool is_built_compute_type(ScalarType type) {
  for (int i = 0; i < kScalarTypeCount; ++i) {
    const auto dtype = static_cast<ScalarType>(i);
    if (is_built(dtype) && compute_type(dtype) == type) return true;
  }
  return false;
}

namespace detail {

template <typename C, typename Body>
bool compute_case(ScalarType compute, Body& body) {
  if constexpr (is_built_compute_type(scalar_type_of<C>)) {
    if (compute == scalar_type_of<C>) {
      body(TypeTag<C>{});
      return true;
    }
  }
  return false;
}

}  // namespace detail

// Calls body(TypeTag<C>{}) with the compute type C of `type`: int64_t, float, double, ComplexFloat or ComplexDouble.
// Fails if C is not in `allowed` (constants of namespace kinds).
template <unsigned allowed, typename Body>
void switch_compute(KernelRuntimeContext& context, ScalarType type, Body&& body) {
  const ScalarType compute = compute_type(type);
  if constexpr ((allowed & kinds::kInteger) != 0) {
    if (detail::compute_case<int64_t>(compute, body)) return;
  }
  if constexpr ((allowed & kinds::kFloating) != 0) {
    if (detail::compute_case<float>(compute, body) || detail::compute_case<double>(compute, body)) return;
  }
  if constexpr ((allowed & kinds::kComplex) != 0) {
    if (detail::compute_case<ComplexFloat>(compute, body) || detail::compute_case<ComplexDouble>(compute, body)) return;
  }
  context.fail(Error::InvalidType, "arithmetic in %s is not supported", dtype_name(type));
}

}  // namespace rushlight
