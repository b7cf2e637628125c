#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "executorch/runtime/core/array_ref.h"
#include "executorch/runtime/core/evalue.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "executorch/runtime/kernel/kernel_runtime_context.h"
#include "rushlight/core/kernel.h"

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

// A kernel in boxed form: a function of the application, or a kernel of the runtime. Called as function(context,
// stack). `stack` contains the arguments in the order of the operator's schema.
class OpFunction {
 public:
  using Pointer = void (*)(KernelRuntimeContext& context, Span<EValue*> stack);

  constexpr OpFunction() = default;
  constexpr OpFunction(std::nullptr_t) {}                       // NOLINT
  constexpr OpFunction(Pointer pointer) : pointer_(pointer) {}  // NOLINT
  // Converts a lambda without captures.
  template <typename Function,
            typename = std::enable_if_t<std::is_class_v<Function> && std::is_convertible_v<Function, Pointer>>>
  constexpr OpFunction(Function function) : pointer_(function) {}  // NOLINT
  // Refers to a kernel of the runtime, which must live as long as the process.
  constexpr explicit OpFunction(const ::rushlight::Kernel* native) : native_(native) {}

  // Calls the kernel. A kernel of the runtime fails with InvalidArgument if the number of arguments, or the type or
  // dtype of an argument, is wrong.
  void operator()(KernelRuntimeContext& context, Span<EValue*> stack) const {
    if (native_) return call_native(context, stack);
    pointer_(context, stack);
  }
  constexpr explicit operator bool() const { return pointer_ || native_; }
  constexpr bool operator==(const OpFunction& other) const {
    return pointer_ == other.pointer_ && native_ == other.native_;
  }
  constexpr bool operator!=(const OpFunction& other) const { return !(*this == other); }

 private:
  void call_native(KernelRuntimeContext& context, Span<EValue*> stack) const;

  Pointer pointer_ = nullptr;
  const ::rushlight::Kernel* native_ = nullptr;
};

// The dtype and dim order of a tensor argument.
struct TensorMeta {
  aten::ScalarType dtype_ = aten::ScalarType::Float;
  Span<aten::DimOrderType> dim_order_;

  TensorMeta() = default;
  TensorMeta(aten::ScalarType dtype, Span<aten::DimOrderType> order) : dtype_(dtype), dim_order_(order) {}
  bool equals(const TensorMeta& other) const { return dtype_ == other.dtype_ && dim_order_ == other.dim_order_; }
  bool operator==(const TensorMeta& other) const { return equals(other); }
  bool operator!=(const TensorMeta& other) const { return !equals(other); }
};

// The dtypes and dim orders that a kernel supports: "v1/6;0,1|6;0,1" means two contiguous float32 tensors with two
// dimensions. A kernel with an empty key is used if no other kernel fits.
struct KernelKey {
 public:
  constexpr KernelKey() = default;
  constexpr KernelKey(const char* kernel_key_data) : kernel_key_data_(kernel_key_data) {}  // NOLINT
  bool is_fallback() const { return kernel_key_data_ == nullptr; }
  const char* data() const { return kernel_key_data_; }
  bool equals(const KernelKey& other) const {
    if (is_fallback() || other.is_fallback()) return is_fallback() && other.is_fallback();
    return std::strcmp(kernel_key_data_, other.kernel_key_data_) == 0;
  }
  bool operator==(const KernelKey& other) const { return equals(other); }
  bool operator!=(const KernelKey& other) const { return !equals(other); }

 private:
  const char* kernel_key_data_ = nullptr;
};

// A kernel, its operator ("aten::add.out") and its key. The texts must live as long as the process.
struct Kernel {
  const char* name_ = nullptr;
  KernelKey kernel_key_;
  OpFunction op_ = nullptr;
  // The kernel in the runtime's form if its parameter types are known. make_boxed_kernel() sets it.
  const ::rushlight::BoxedKernel* typed_ = nullptr;

  constexpr Kernel() = default;
  constexpr explicit Kernel(const char* name, OpFunction function) : name_(name), op_(function) {}
  constexpr explicit Kernel(const char* name, KernelKey key, OpFunction function)
      : name_(name), kernel_key_(key), op_(function) {}
  constexpr Kernel(const char* name, KernelKey key, OpFunction function, const ::rushlight::BoxedKernel* typed)
      : name_(name), kernel_key_(key), op_(function), typed_(typed) {}
};

namespace internal {

constexpr size_t kKernelKeyBufSize = 659;
// Writes the key of tensors as text. Returns InvalidArgument if the text does not fit.
Error make_kernel_key_string(Span<const TensorMeta> key, char* buf, size_t buf_size);

// Registers a table of the runtime, such as rushlight::portable_kernels(). Kernels of the application have priority;
// among tables, a smaller rank has priority.
Error register_table(::rushlight::KernelTable table, int rank);

}  // namespace internal

// Registers kernels for methods that are loaded later. Registers none and returns RegistrationAlreadyRegistered if a
// kernel with the same name and key exists, or RegistrationExceedingMaxKernels if the registry is full.
ET_NODISCARD Error register_kernels(const Span<const Kernel> kernels);
ET_NODISCARD inline Error register_kernel(const Kernel& kernel) { return register_kernels({&kernel, size_t{1}}); }
// Returns all kernels: those that the application registered, then those of the linked libraries of the runtime. The
// result is valid until another kernel or library is registered.
Span<const Kernel> get_registered_kernels();
// Return whether any kernel supports tensors of these dtypes and dim orders; return such a kernel, or OperatorMissing.
bool registry_has_op_function(const char* name, Span<const TensorMeta> meta_list = {});
Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list = {});

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {

inline ::executorch::runtime::OpFunction getOpsFn(
    const char* name, ::executorch::runtime::ArrayRef<::executorch::runtime::TensorMeta> metas = {}) {
  auto function = ::executorch::runtime::get_op_function_from_registry(name, metas);
  ET_CHECK_MSG(function.ok(), "there is no kernel of %s", name);
  return *function;
}
inline bool hasOpsFn(const char* name, ::executorch::runtime::ArrayRef<::executorch::runtime::TensorMeta> metas = {}) {
  return ::executorch::runtime::registry_has_op_function(name, metas);
}
inline ::executorch::runtime::ArrayRef<::executorch::runtime::Kernel> get_kernels() {
  return ::executorch::runtime::get_registered_kernels();
}

}  // namespace executor
}  // namespace torch

namespace torch {
namespace executor {
using ::executorch::runtime::Kernel;
using ::executorch::runtime::KernelKey;
using ::executorch::runtime::OpFunction;
using ::executorch::runtime::register_kernel;
using ::executorch::runtime::register_kernels;
using ::executorch::runtime::TensorMeta;
}  // namespace executor
}  // namespace torch
