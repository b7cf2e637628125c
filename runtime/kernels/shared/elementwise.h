#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// An elementwise function in its compute type. `loop` receives contiguous arrays; run_elementwise() handles dtypes,
// strides, broadcasting and threads.
struct ElementwiseFunction {
  void (*loop)(const void* function, const void* const* inputs, void* output, int64_t n);
  const void* function;
  ScalarType compute;                   // of the inputs
  ScalarType result;                    // of the output: a compute type or Bool
  ScalarType common;                    // inputs are first converted to the range and precision of this dtype
  bool numbers_keep_precision = false;  // floating-point zero-dim inputs are not converted to `common`
};

// Computes out = function(inputs...). The shape of `out` is already set. `out` may share the memory of an input with
// the same dtype and shape.
void run_elementwise(KernelRuntimeContext& context, Span<const Tensor> inputs, const Tensor& out,
                     const ElementwiseFunction& function);

// Sets out's shape to the broadcast shape of the inputs.
bool resize_to_broadcast(KernelRuntimeContext& context, Span<const Tensor> inputs, const Tensor& out);

namespace detail {

template <typename C, typename Function, size_t... I>
auto elementwise_loop(std::index_sequence<I...>) {
  using Result = std::decay_t<decltype(std::declval<const Function&>()(((void)I, C())...))>;
  return +[](const void* function, const void* const* inputs, void* output, int64_t n) {
    // This local copy shows the compiler that stores to `out` cannot change the function.
    const Function f = *static_cast<const Function*>(function);
    Result* out = static_cast<Result*>(output);
    const C* in[] = {static_cast<const C*>(inputs[I])...};
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[I][i]...);
  };
}

template <typename C, typename Function, size_t... I>
std::decay_t<decltype(std::declval<const Function&>()(((void)I, C())...))> elementwise_result(
    std::index_sequence<I...>);

}  // namespace detail

// Computes out = f(inputs...), where f takes C and returns C, bool or another compute type.
template <typename C, size_t N, typename Function>
void map_elements(KernelRuntimeContext& context, const Tensor (&inputs)[N], const Tensor& out, ScalarType common,
                  const Function& f, bool numbers_keep_precision = false) {
  using Indices = std::make_index_sequence<N>;
  using Result = decltype(detail::elementwise_result<C, Function>(Indices{}));
  run_elementwise(context, Span<const Tensor>(inputs, N), out,
                  {detail::elementwise_loop<C, Function>(Indices{}), &f, scalar_type_of<C>, scalar_type_of<Result>,
                   common, numbers_keep_precision});
}

// A complete elementwise kernel. It broadcasts, computes in the compute type C of `common`, and writes a result of
// dtype `common`, or bool if f returns bool. `make(C())` returns f, which takes C and returns C or bool.
template <unsigned allowed, size_t N, typename Make>
void elementwise(KernelRuntimeContext& context, const Tensor (&inputs)[N], const Tensor& out, ScalarType common,
                 const Make& make, bool numbers_keep_precision = false) {
  if (!resize_to_broadcast(context, Span<const Tensor>(inputs, N), out)) return;
  switch_compute<allowed>(context, common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const auto f = make(C());
    using Result = decltype(detail::elementwise_result<C, std::decay_t<decltype(f)>>(std::make_index_sequence<N>{}));
    ScalarType result = std::is_same_v<Result, bool> ? ScalarType::Bool : common;
    if (is_complex_type<C> && !is_complex_type<Result>) result = real_type(result);
    if (!require_cast(context, result, out)) return;
    map_elements<C>(context, inputs, out, common, f, numbers_keep_precision);
  });
}

// Does the same as `elementwise` for one input. The result for integers is floating-point.
template <unsigned allowed = kinds::kFloating, typename Make>
void elementwise_float(KernelRuntimeContext& context, const Tensor& input, const Tensor& out, const Make& make) {
  elementwise<allowed>(context, {input}, out, float_result(input.scalar_type()), make);
}

// Converts a number to dtype `type`, and returns it in the compute type C of `type`. elementwise.cpp has it for all
// compute types.
template <typename C>
C number_in(const Scalar& number, ScalarType type);

}  // namespace rushlight
