#pragma once

#include <type_traits>
#include <utility>

#include "executorch/runtime/core/evalue.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/kernel/kernel_runtime_context.h"
#include "executorch/runtime/kernel/operator_registry.h"
#include "rushlight/core/kernel.h"

// Reads parameters of ExecuTorch's own types from values. rushlight/core/kernel.h reads parameters of all other types.
namespace rushlight {
namespace detail {

#define ET_INTERNAL_ARGUMENT(cpp_type, kind_name, expression)                      \
  template <>                                                                      \
  struct Argument<cpp_type> {                                                      \
    static constexpr ArgKind kind = ArgKind::kind_name;                            \
    static cpp_type get(EValue& value) { return expression; }                      \
  };                                                                               \
  template <>                                                                      \
  struct Argument<std::optional<cpp_type>> {                                       \
    static constexpr ArgKind kind = ArgKind::Optional##kind_name;                  \
    static std::optional<cpp_type> get(EValue& value) {                            \
      return value.is_none() ? std::nullopt : std::optional<cpp_type>(expression); \
    }                                                                              \
  };
ET_INTERNAL_ARGUMENT(::executorch::aten::Scalar, Scalar, ::executorch::aten::Scalar(value.to_scalar()))
ET_INTERNAL_ARGUMENT(::executorch::aten::MemoryFormat, Int,
                     static_cast<::executorch::aten::MemoryFormat>(value.to_int()))
ET_INTERNAL_ARGUMENT(::executorch::aten::Layout, Int, static_cast<::executorch::aten::Layout>(value.to_int()))
ET_INTERNAL_ARGUMENT(::executorch::aten::Device, Int,
                     ::executorch::aten::Device(static_cast<::executorch::aten::DeviceType>(value.to_int())))
#undef ET_INTERNAL_ARGUMENT

}  // namespace detail
}  // namespace rushlight

namespace executorch {
namespace extension {
namespace internal {

// Adapts a kernel to the signature that the runtime boxes. A kernel may return its out or nothing, and may have a
// context as its first parameter.
template <auto function, typename Signature = decltype(function)>
struct Adapted;
template <auto function, typename Return, typename... Parameters>
struct Adapted<function, Return (*)(Parameters...)> {
  static void call(::rushlight::KernelRuntimeContext&, Parameters... arguments) {
    static_cast<void>(function(std::forward<Parameters>(arguments)...));
  }
};
template <auto function, typename Return, typename... Parameters>
struct Adapted<function, Return (*)(::executorch::runtime::KernelRuntimeContext&, Parameters...)> {
  static void call(::rushlight::KernelRuntimeContext& native, Parameters... arguments) {
    ::executorch::runtime::KernelRuntimeContext context(native);
    static_cast<void>(function(context, std::forward<Parameters>(arguments)...));
  }
};

// A function as a compile-time constant.
template <auto function>
struct FunctionPointer {
  static constexpr const ::rushlight::BoxedKernel* typed = &::rushlight::boxed<&Adapted<function>::call>;
  static void call(::executorch::runtime::KernelRuntimeContext& context,
                   ::executorch::runtime::Span<::executorch::runtime::EValue*> stack) {
    typed->call(context.native(), reinterpret_cast<::rushlight::EValue* const*>(stack.data()));
  }
};

}  // namespace internal

// Makes the boxed form of a kernel: WrapUnboxedIntoFunctor<EXECUTORCH_FN_TYPE(f)>::call.
template <typename Function>
struct WrapUnboxedIntoFunctor {
  static void call(::executorch::runtime::KernelRuntimeContext& context,
                   ::executorch::runtime::Span<::executorch::runtime::EValue*> stack) {
    Function::call(context, stack);
  }
};

// Makes a registry row for a kernel: make_boxed_kernel("my_ops::mul3.out", EXECUTORCH_FN(mul3_out)).
template <typename Function>
::executorch::runtime::Kernel make_boxed_kernel(const char* name, Function, ::executorch::runtime::KernelKey key = {}) {
  return ::executorch::runtime::Kernel(name, key, &Function::call, Function::typed);
}

}  // namespace extension
}  // namespace executorch

#define EXECUTORCH_FN_TYPE(func, ...) ::executorch::extension::internal::FunctionPointer<&func>
#define EXECUTORCH_FN(func, ...) EXECUTORCH_FN_TYPE(func)()

// Registers a kernel when the program starts: EXECUTORCH_LIBRARY(my_ops, "mul3.out", mul3_out).
#define EXECUTORCH_LIBRARY(ns, op_name, func) ET_INTERNAL_LIBRARY(ns, op_name, func, __COUNTER__)
#define ET_INTERNAL_LIBRARY(ns, op_name, func, id) ET_INTERNAL_LIBRARY_NAMED(ns, op_name, func, id)
#define ET_INTERNAL_LIBRARY_NAMED(ns, op_name, func, id)                                 \
  [[maybe_unused]] static const ::executorch::runtime::Error et_registered_##ns##_##id = \
      ::executorch::runtime::register_kernel(                                            \
          ::executorch::extension::make_boxed_kernel(#ns "::" op_name, EXECUTORCH_FN(func)))

namespace torch {
namespace executor {
using ::executorch::extension::make_boxed_kernel;
using ::executorch::extension::WrapUnboxedIntoFunctor;
}  // namespace executor
}  // namespace torch
