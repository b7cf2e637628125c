#include "kernels/shared/convert.h"

#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"
#include "kernels/shared/half.h"

namespace rushlight {
namespace {

template <typename To, typename From>
To cast(From value) {
  if constexpr (std::is_same_v<From, ComplexHalf>) {
    return cast<To>(static_cast<ComplexFloat>(value));
  } else if constexpr (std::is_same_v<To, ComplexHalf>) {
    return ComplexHalf(cast<ComplexFloat>(value));
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return cast<To>(static_cast<float>(value));
  } else if constexpr (is_complex_type<From>) {
    if constexpr (is_complex_type<To>) {
      return To(value);
    } else if constexpr (std::is_same_v<To, bool>) {
      return value.real() != 0 || value.imag() != 0;
    } else {
      return cast<To>(value.real());
    }
  } else if constexpr (is_complex_type<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_unsigned_v<To>) {
    return static_cast<To>(static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<int32_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Rarely used loops are compiled for small size.
#if defined(__GNUC__) && !defined(__clang__)
#define RL_SMALL __attribute__((noinline, optimize("no-tree-vectorize")))
#else
#define RL_SMALL __attribute__((noinline))
#endif

template <typename From, typename To>
RL_SMALL void convert_strided(const From* from, int64_t from_stride, To* to, int64_t to_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i * to_stride] = cast<To>(element(from + i * from_stride));
}

template <typename T>
inline constexpr bool is_common =
    !is_complex_type<T> && !std::is_same_v<T, uint16_t> && !std::is_same_v<T, uint32_t> && !std::is_same_v<T, uint64_t>;

template <typename From, typename To>
void convert(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n) {
  const From* source = static_cast<const From*>(from);
  To* target = static_cast<To*>(to);
  if constexpr (is_common<From> && is_common<To>) {
    if (from_stride == 1 && to_stride == 1) {
      if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>) {
        return widen_half(source, target, n);
      } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>) {
        return narrow_half(source, target, n);
      } else if constexpr (std::is_same_v<From, BFloat16> && std::is_same_v<To, float>) {
        return widen_bfloat16(source, target, n);
      } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, BFloat16>) {
        return narrow_bfloat16(source, target, n);
      } else {
        for (int64_t i = 0; i < n; ++i) target[i] = cast<To>(element(source + i));
        return;
      }
    }
  }
  convert_strided(source, from_stride, target, to_stride, n);
}

// Tables of function pointers: one row for each stored dtype, one column for each compute type.
enum Column { kLong, kFloat, kDouble, kComplexFloat, kComplexDouble, kBool, kColumns };

int column(ScalarType compute) {
  switch (compute) {
    case ScalarType::Long:
      return kLong;
    case ScalarType::Float:
      return kFloat;
    case ScalarType::Double:
      return kDouble;
    case ScalarType::ComplexFloat:
      return kComplexFloat;
    case ScalarType::ComplexDouble:
      return kComplexDouble;
    case ScalarType::Bool:
      return kBool;
    default:
      return -1;
  }
}

// Whether this build has tensors of element type T, or uses T for arguments or intermediate results.
template <typename T>
constexpr bool is_stored = is_built(scalar_type_of<T>) || std::is_same_v<T, int64_t> || std::is_same_v<T, float> ||
                           std::is_same_v<T, double> || std::is_same_v<T, bool>;
// Kernels may compute in these real types for any dtype of the elements.
template <typename C>
constexpr bool is_computed =
    std::is_same_v<C, int64_t> || std::is_same_v<C, float> || std::is_same_v<C, double> ||
    (std::is_same_v<C, bool> ? is_built(ScalarType::Bool) : is_built_compute_type(scalar_type_of<C>));

template <typename Stored, typename Compute>
constexpr Convert load() {
  if constexpr (is_stored<Stored> && is_computed<Compute>) return convert<Stored, Compute>;
  return nullptr;
}
template <typename Stored, typename Compute>
constexpr Convert store() {
  if constexpr (is_built(scalar_type_of<Stored>) && is_computed<Compute>) return convert<Compute, Stored>;
  return nullptr;
}

#define RL_LOADS(T)                                                      \
  {load<T, int64_t>(),      load<T, float>(),         load<T, double>(), \
   load<T, ComplexFloat>(), load<T, ComplexDouble>(), load<T, bool>()}
#define RL_STORES(T)                                                        \
  {store<T, int64_t>(),      store<T, float>(),         store<T, double>(), \
   store<T, ComplexFloat>(), store<T, ComplexDouble>(), store<T, bool>()}
#define RL_NONE {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr}
// Indexed by ScalarType.
#define RL_TABLE(ROW)  \
  {ROW(uint8_t),       \
   ROW(int8_t),        \
   ROW(int16_t),       \
   ROW(int32_t),       \
   ROW(int64_t),       \
   ROW(Half),          \
   ROW(float),         \
   ROW(double),        \
   ROW(ComplexHalf),   \
   ROW(ComplexFloat),  \
   ROW(ComplexDouble), \
   ROW(bool),          \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   ROW(BFloat16),      \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   RL_NONE,            \
   ROW(uint16_t),      \
   ROW(uint32_t),      \
   ROW(uint64_t)}

constexpr Convert kLoads[kScalarTypeCount][kColumns] = RL_TABLE(RL_LOADS);
constexpr Convert kStores[kScalarTypeCount][kColumns] = RL_TABLE(RL_STORES);

Convert lookup(const Convert (&table)[kScalarTypeCount][kColumns], ScalarType stored, ScalarType compute) {
  const int row = static_cast<int>(stored), col = column(compute);
  return row >= 0 && row < kScalarTypeCount && col >= 0 ? table[row][col] : nullptr;
}

template <typename T, typename C>
RL_SMALL void narrow_all(void* values, int64_t n) {
  C* data = static_cast<C*>(values);
  for (int64_t i = 0; i < n; ++i) data[i] = static_cast<C>(cast<T>(data[i]));
}

}  // namespace

Convert load_function(ScalarType stored, ScalarType compute) { return lookup(kLoads, stored, compute); }
Convert store_function(ScalarType compute, ScalarType stored) { return lookup(kStores, stored, compute); }

bool narrows(ScalarType stored, ScalarType common) {
  if (stored == common) return false;
  if (common == ScalarType::Half || common == ScalarType::BFloat16) return stored != ScalarType::Bool;
  if (!is_integral(stored) || !is_integral(common)) return false;
  return element_size(stored) >= element_size(common) || common == ScalarType::Byte;
}

void narrow_to(ScalarType common, void* values, int64_t n) {
  switch (common) {
    case ScalarType::Half:
      return round_half(static_cast<float*>(values), n);
    case ScalarType::BFloat16:
      return round_bfloat16(static_cast<float*>(values), n);
    case ScalarType::Byte:
      return narrow_all<uint8_t, int64_t>(values, n);
    case ScalarType::Char:
      return narrow_all<int8_t, int64_t>(values, n);
    case ScalarType::Short:
      return narrow_all<int16_t, int64_t>(values, n);
    case ScalarType::Int:
      return narrow_all<int32_t, int64_t>(values, n);
    default:
      return;
  }
}

}  // namespace rushlight
