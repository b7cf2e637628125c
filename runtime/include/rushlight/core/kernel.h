#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "rushlight/core/evalue.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/scalar_type.h"

namespace rushlight {

// The type of a kernel's parameter. Loading a method checks that the values of the program have this type.
enum class ArgKind : uint8_t {
  Tensor,
  OptionalTensor,
  TensorList,
  OptionalTensorList,
  Scalar,
  OptionalScalar,
  Int,
  OptionalInt,
  Double,
  OptionalDouble,
  Bool,
  OptionalBool,
  IntList,
  OptionalIntList,
  DoubleList,
  OptionalDoubleList,
  BoolList,
  String,
  OptionalString,
  ScalarType,
  OptionalScalarType,
  Value,          // any value, passed as EValue&
  OutTensor,      // written
  OutTensorList,  // its items are written
};

// Returns whether a parameter of this kind accepts a value with this tag.
bool accepts(ArgKind kind, Tag tag);
// Returns the name of a kind, for example "Tensor".
[[gnu::const]] const char* to_string(ArgKind kind) noexcept;

// A kernel in boxed form. `arguments` are the arguments in the order of the operator's schema.
using KernelFunction = void (*)(KernelRuntimeContext& context, EValue* const* arguments);

// A kernel in boxed form with the types of its parameters. See `boxed` below.
struct BoxedKernel {
  KernelFunction call;
  const ArgKind* kinds;  // [arity]
  uint16_t arity;
};

// Returns a set of arguments as a bit mask: args(0, 2) is the first and the third argument.
template <typename... Numbers>
constexpr uint32_t args(Numbers... numbers) {
  return ((1u << numbers) | ...);
}

// The dtypes that the tensors of some arguments may have.
struct ArgumentDtypes {
  uint32_t arguments = 0;  // args(2, 3)
  DtypeSet dtypes;
};

// A row of a kernel table: the kernel and the dtypes that it supports. Loading a method with tensors of other dtypes
// fails.
struct Kernel {
  const char* name;  // "aten::add.out"
  BoxedKernel boxed;
  DtypeSet dtypes;                // the dtypes of all tensor arguments, list items and outs included; empty: any
  ArgumentDtypes others[3] = {};  // arguments whose dtypes differ from `dtypes`
  // Null, or the dtypes and dim orders of the tensors that this row supports, in the format of ExecuTorch's kernel
  // keys: "v1/6;0,1|6;0,1" is for two float32 tensors of two contiguous dimensions.
  const char* key = nullptr;

  // Returns the dtypes that the tensors of an argument may have; an empty set allows all.
  constexpr DtypeSet dtypes_of(size_t argument) const {
    for (const ArgumentDtypes& other : others) {
      if (argument < 32 && ((other.arguments >> argument) & 1u) != 0) return other.dtypes;
    }
    return dtypes;
  }
};

// Returns whether the tensors in `arguments` have the dtypes and dim orders of the kernel's key; true without a key.
bool fits_key(const Kernel& kernel, const EValue* const* arguments);

// A tensor argument whose dtype its kernel does not support.
struct DtypeMismatch {
  bool found = false;
  uint16_t argument = 0;
  ScalarType dtype{};
};

// Returns the first argument whose dtype the kernel does not support. `arguments` has kernel.boxed.arity values, whose
// tags fit the kernel's parameters.
DtypeMismatch find_dtype_mismatch(const Kernel& kernel, const EValue* const* arguments);

// Returns whether the kernel writes an argument of this kind.
constexpr bool is_out(ArgKind kind) { return kind == ArgKind::OutTensor || kind == ArgKind::OutTensorList; }
// Returns whether an argument of this kind has tensors.
constexpr bool is_tensor_kind(ArgKind kind) {
  return is_out(kind) || kind == ArgKind::Tensor || kind == ArgKind::OptionalTensor || kind == ArgKind::TensorList ||
         kind == ArgKind::OptionalTensorList;
}

// Rows, sorted by name in the order of strcmp(). The rows live as long as the process.
using KernelTable = Span<const Kernel>;

// Returns the row with this name from the first table that has one, or null.
const Kernel* find_kernel(Span<const KernelTable> tables, std::string_view name);

namespace detail {

inline double as_double(const EValue& value) {
  return value.tag == Tag::Double ? value.to_double() : static_cast<double>(value.to_int());
}
// An Int and a Bool have the same payload.
inline int64_t as_int(const EValue& value) { return value.to_int(); }

template <typename T>
struct Argument;
#define RL_ARGUMENT(type, kind_name, expression)          \
  template <>                                             \
  struct Argument<type> {                                 \
    static constexpr ArgKind kind = ArgKind::kind_name;   \
    static type get(EValue& value) { return expression; } \
  }
#define RL_OPTIONAL_ARGUMENT(type, kind_name, expression)                      \
  template <>                                                                  \
  struct Argument<std::optional<type>> {                                       \
    static constexpr ArgKind kind = ArgKind::kind_name;                        \
    static std::optional<type> get(EValue& value) {                            \
      return value.is_none() ? std::nullopt : std::optional<type>(expression); \
    }                                                                          \
  }
RL_ARGUMENT(Tensor, Tensor, value.to_tensor());
RL_ARGUMENT(Span<const Tensor>, TensorList, value.to_tensor_list());
RL_ARGUMENT(Span<Tensor>, TensorList, value.to_tensor_list());
RL_ARGUMENT(Span<const std::optional<Tensor>>, OptionalTensorList, value.to_optional_tensor_list());
RL_ARGUMENT(Scalar, Scalar, value.to_scalar());
RL_ARGUMENT(int64_t, Int, as_int(value));
RL_ARGUMENT(double, Double, as_double(value));
RL_ARGUMENT(bool, Bool, value.to_bool());
RL_ARGUMENT(Span<const int64_t>, IntList, value.to_int_list());
RL_ARGUMENT(Span<const double>, DoubleList, value.to_double_list());
RL_ARGUMENT(Span<const bool>, BoolList, value.to_bool_list());
RL_ARGUMENT(std::string_view, String, value.to_string_view());
RL_ARGUMENT(ScalarType, ScalarType, static_cast<ScalarType>(value.to_int()));
RL_ARGUMENT(EValue&, Value, value);
RL_OPTIONAL_ARGUMENT(Tensor, OptionalTensor, value.to_tensor());
RL_OPTIONAL_ARGUMENT(Scalar, OptionalScalar, value.to_scalar());
RL_OPTIONAL_ARGUMENT(int64_t, OptionalInt, as_int(value));
RL_OPTIONAL_ARGUMENT(double, OptionalDouble, as_double(value));
RL_OPTIONAL_ARGUMENT(bool, OptionalBool, value.to_bool());
RL_OPTIONAL_ARGUMENT(Span<const int64_t>, OptionalIntList, value.to_int_list());
RL_OPTIONAL_ARGUMENT(Span<const double>, OptionalDoubleList, value.to_double_list());
RL_OPTIONAL_ARGUMENT(std::string_view, OptionalString, value.to_string_view());
RL_OPTIONAL_ARGUMENT(ScalarType, OptionalScalarType, static_cast<ScalarType>(value.to_int()));
#undef RL_ARGUMENT
#undef RL_OPTIONAL_ARGUMENT

template <typename Parameter>
struct Plain {
  using type = std::remove_cv_t<std::remove_reference_t<Parameter>>;
};
template <>
struct Plain<EValue&> {
  using type = EValue&;
};

// The kind of a declared parameter. The kernel writes a Tensor& and reads a const Tensor&.
template <typename Parameter>
inline constexpr ArgKind kind_of = Argument<typename Plain<Parameter>::type>::kind;
template <>
inline constexpr ArgKind kind_of<Tensor&> = ArgKind::OutTensor;
template <>
inline constexpr ArgKind kind_of<Span<Tensor>> = ArgKind::OutTensorList;

template <auto function>
struct Boxing;

template <typename... Parameters, void (*function)(KernelRuntimeContext&, Parameters...)>
struct Boxing<function> {
  static constexpr ArgKind kinds[sizeof...(Parameters)] = {kind_of<Parameters>...};
  static void call(KernelRuntimeContext& context, EValue* const* arguments) {
    unbox(context, arguments, std::index_sequence_for<Parameters...>{});
  }

 private:
  // A reference parameter such as Tensor& refers to a local copy of the handle, which refers to the same tensor.
  template <typename Parameter>
  struct Holder {
    typename Plain<Parameter>::type value;
    explicit Holder(EValue& source) : value(Argument<typename Plain<Parameter>::type>::get(source)) {}
    Parameter pass() { return static_cast<Parameter>(value); }
  };
  template <size_t... I>
  static void unbox(KernelRuntimeContext& context, EValue* const* arguments, std::index_sequence<I...>) {
    call_with(context, Holder<Parameters>(*arguments[I])...);
  }
  static void call_with(KernelRuntimeContext& context, Holder<Parameters>... holders) {
    function(context, holders.pass()...);
  }
};

}  // namespace detail

// Makes the boxed form of a kernel `void f(KernelRuntimeContext&, const Tensor& a, int64_t n, ..., Tensor& out)`. The
// parameters have the order of the operator's schema, with the outs at the end. Their types are Tensor,
// Span<const Tensor>, Span<const optional<Tensor>>, Scalar, int64_t, double, bool, Span<const int64_t>,
// Span<const double>, Span<const bool>, string_view and ScalarType, by value or const reference; optional<> of most of
// these; EValue& for any value; Tensor& for an out tensor, and Span<Tensor> for a list of out tensors.
template <auto function>
inline constexpr BoxedKernel boxed{&detail::Boxing<function>::call, detail::Boxing<function>::kinds,
                                   static_cast<uint16_t>(sizeof(detail::Boxing<function>::kinds) / sizeof(ArgKind))};

}  // namespace rushlight
