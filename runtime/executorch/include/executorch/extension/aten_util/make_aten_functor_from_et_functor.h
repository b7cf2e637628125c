#pragma once

#include <ATen/ATen.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/kernel/kernel_runtime_context.h"
#include "rushlight/module/growing_allocator.h"

// Makes kernels callable from PyTorch: WRAP_TO_ATEN(f, i) is kernel f with the types of ATen; argument i of f is the
// out tensor. If the kernel fails, the function raises an exception in Python.
namespace executorch {
namespace extension {
namespace internal {

// A kernel's tensor over the elements of an ATen tensor. Elements that are not dense are copied.
class BorrowedTensor {
 public:
  explicit BorrowedTensor(const at::Tensor& tensor, bool is_out = false) : aten_(tensor), is_out_(is_out) {
    TORCH_CHECK(tensor.device().is_cpu(), "a kernel supports only tensors on the CPU, not on ", tensor.device());
    TORCH_CHECK(tensor.dim() <= ::rushlight::kMaxDim, "a kernel supports only tensors of at most 16 dimensions");
    if (!tensor.is_non_overlapping_and_dense()) aten_ = tensor.contiguous();
    order_.resize(static_cast<size_t>(tensor.dim()));
    for (size_t i = 0; i < order_.size(); ++i) {
      size_t place = i;
      for (; place > 0 && aten_.stride(order_[place - 1]) < aten_.stride(static_cast<int64_t>(i)); --place) {
        order_[place] = order_[place - 1];
      }
      order_[place] = static_cast<uint8_t>(i);
      sizes_.push_back(static_cast<int32_t>(tensor.size(static_cast<int64_t>(i))));
    }
    strides_.resize(order_.size());
    ::rushlight::strides_from_dim_order(sizes_, order_.data(), strides_.data());
    impl_.data = aten_.data_ptr();
    impl_.sizes = sizes_.data();
    impl_.strides = strides_.data();
    impl_.dim_order = order_.data();
    impl_.numel = tensor.numel();
    impl_.capacity = aten_.nbytes();
    impl_.dtype = static_cast<aten::ScalarType>(tensor.scalar_type());
    impl_.dim = static_cast<uint8_t>(tensor.dim());
    if (is_out) {
      impl_.dynamism = ::rushlight::ShapeDynamism::DYNAMIC_UNBOUND;
      impl_.growth = &growth_;
    }
  }
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;

  aten::Tensor tensor() { return aten::Tensor(&impl_); }
  // Copies the shape and the elements of an out to an ATen tensor.
  void write_back(at::Tensor& target) {
    if (!is_out_) return;
    const std::vector<int64_t> sizes(sizes_.begin(), sizes_.end());
    if (target.sizes() != at::IntArrayRef(sizes)) target.resize_(sizes);
    if (impl_.data == target.data_ptr()) return;
    at::Tensor view = at::empty(sizes, target.options());
    std::memcpy(view.data_ptr(), impl_.data, view.nbytes());
    target.copy_(view);
  }

 private:
  at::Tensor aten_;
  bool is_out_;
  std::vector<int32_t> sizes_;
  std::vector<int32_t> strides_;
  std::vector<uint8_t> order_;
  ::rushlight::GrowingAllocator growth_;
  ::rushlight::TensorImpl impl_;
};

// Converts an argument of ATen's type to a parameter of a kernel. `Bound` owns the objects behind the parameter.
template <typename T>
struct FromATen {  // numbers, bools and views of them
  using Type = T;
  struct Bound {
    T value;
    explicit Bound(T argument) : value(argument) {}
    T get() { return value; }
  };
};
template <>
struct FromATen<aten::Tensor> {
  using Type = const at::Tensor&;
  struct Bound {
    BorrowedTensor borrowed;
    aten::Tensor tensor;
    explicit Bound(const at::Tensor& argument) : borrowed(argument), tensor(borrowed.tensor()) {}
    aten::Tensor& get() { return tensor; }
  };
};
template <>
struct FromATen<aten::Scalar> {
  using Type = const at::Scalar&;
  struct Bound {
    aten::Scalar value;
    explicit Bound(const at::Scalar& argument)
        : value(argument.isFloatingPoint() ? aten::Scalar(argument.toDouble())
                : argument.isBoolean()     ? aten::Scalar(argument.toBool())
                                           : aten::Scalar(argument.toLong())) {}
    aten::Scalar& get() { return value; }
  };
};
template <>
struct FromATen<aten::ScalarType> {
  using Type = at::ScalarType;
  struct Bound {
    aten::ScalarType value;
    explicit Bound(at::ScalarType argument) : value(static_cast<aten::ScalarType>(argument)) {}
    aten::ScalarType get() { return value; }
  };
};
template <>
struct FromATen<std::string_view> {
  using Type = c10::string_view;
  struct Bound {
    std::string_view value;
    explicit Bound(c10::string_view argument) : value(argument.data(), argument.size()) {}
    std::string_view get() { return value; }
  };
};
template <typename T>
struct FromATen<aten::ArrayRef<T>> {
  using Type = at::ArrayRef<T>;
  struct Bound {
    aten::ArrayRef<T> value;
    explicit Bound(at::ArrayRef<T> argument) : value(argument.data(), argument.size()) {}
    aten::ArrayRef<T> get() { return value; }
  };
};
template <>
struct FromATen<aten::TensorList> {
  using Type = at::TensorList;
  struct Bound {
    std::vector<std::unique_ptr<BorrowedTensor>> borrowed;
    std::vector<aten::Tensor> tensors;
    explicit Bound(at::TensorList argument) {
      for (const at::Tensor& tensor : argument) {
        borrowed.push_back(std::make_unique<BorrowedTensor>(tensor));
        tensors.push_back(borrowed.back()->tensor());
      }
    }
    aten::TensorList get() { return {tensors.data(), tensors.size()}; }
  };
};
template <typename T>
struct FromATen<std::optional<T>> {
  using Inner = FromATen<T>;
  using Type = std::optional<std::remove_cv_t<std::remove_reference_t<typename Inner::Type>>>;
  struct Bound {
    std::optional<typename Inner::Bound> inner;
    explicit Bound(const Type& argument) {
      if (argument) inner.emplace(*argument);
    }
    std::optional<T> get() { return inner ? std::optional<T>(inner->get()) : std::nullopt; }
  };
};

// An out tensor.
struct FromATenOut {
  using Type = at::Tensor&;
  struct Bound {
    at::Tensor& target;
    BorrowedTensor borrowed;
    aten::Tensor tensor;
    explicit Bound(at::Tensor& argument) : target(argument), borrowed(argument, true), tensor(borrowed.tensor()) {}
    aten::Tensor& get() { return tensor; }
    void finish() { borrowed.write_back(target); }
  };
};

template <typename Parameter>
using FromATenOf = std::conditional_t<std::is_same_v<Parameter, aten::Tensor&>, FromATenOut,
                                      FromATen<std::remove_cv_t<std::remove_reference_t<Parameter>>>>;

template <typename Bound>
void finish(Bound& bound) {
  if constexpr (std::is_same_v<Bound, FromATenOut::Bound>) bound.finish();
}

template <auto kernel, int out_index, typename Signature = decltype(kernel)>
struct WrappedKernel;
template <auto kernel, int out_index, typename... Parameters>
struct WrappedKernel<kernel, out_index, aten::Tensor& (*)(Parameters...)> {
  static at::Tensor& call(typename FromATenOf<Parameters>::Type... arguments) {
    std::tuple<typename FromATenOf<Parameters>::Bound...> bound(arguments...);
    std::apply([](auto&... each) { static_cast<void>(kernel(each.get()...)); }, bound);
    std::apply([](auto&... each) { (finish(each), ...); }, bound);
    return std::get<out_index>(std::tie(arguments...));
  }
};
template <auto kernel, int out_index, typename... Parameters>
struct WrappedKernel<kernel, out_index, aten::Tensor& (*)(runtime::KernelRuntimeContext&, Parameters...)> {
  static at::Tensor& call(typename FromATenOf<Parameters>::Type... arguments) {
    ::rushlight::GrowingAllocator scratch;
    ::rushlight::KernelRuntimeContext native(&scratch, nullptr);
    runtime::KernelRuntimeContext context(native);
    std::tuple<typename FromATenOf<Parameters>::Bound...> bound(arguments...);
    std::apply([&](auto&... each) { static_cast<void>(kernel(context, each.get()...)); }, bound);
    TORCH_CHECK(context.failure_state() == runtime::Error::Ok,
                "the kernel failed: ", ::rushlight::to_string(context.failure_state()), " ",
                ::rushlight::last_error_message());
    std::apply([](auto&... each) { (finish(each), ...); }, bound);
    return std::get<out_index>(std::tie(arguments...));
  }
};

}  // namespace internal
}  // namespace extension
}  // namespace executorch

#define WRAP_TO_ATEN(function, out_index) &::executorch::extension::internal::WrappedKernel<&function, out_index>::call
