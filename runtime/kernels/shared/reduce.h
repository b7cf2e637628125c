#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/shape.h"

namespace rushlight {

// A set of dims to reduce: bit i is dim i.
using DimMask = uint32_t;

// Converts a list of dims to a mask. No list means all dims; with `empty_is_all`, an empty list does too. Negative dims
// count from the end. Fails if a dim occurs twice.
bool dim_mask(KernelRuntimeContext& context, const Tensor& input, std::optional<Span<const int64_t>> dims,
              DimMask* mask, bool empty_is_all = true);
bool dim_mask(KernelRuntimeContext& context, const Tensor& input, int64_t dim, DimMask* mask);

// Returns the sizes of the input. The dims in `mask` are removed or, with `keepdim`, set to 1.
Shape reduced_shape(const Tensor& input, DimMask mask, bool keepdim);
// Returns the number of elements that are reduced to one result.
int64_t reduced_numel(const Tensor& input, DimMask mask);
// Fails if a result is a reduction of no elements.
bool require_nonempty(KernelRuntimeContext& context, const Tensor& input, DimMask mask, const char* what);

inline constexpr size_t kMaxReduceState = 64;  // bytes

// A reduction in its compute type. Each result has a state, which the reduction updates with blocks of elements.
struct ReduceFunction {
  void (*init)(const void* function, void* state);
  void (*update)(const void* function, void* state, const void* block, int64_t n);
  void (*finish)(const void* function, const void* state, void* const* results);
  const void* function;
  size_t state_size;
  ScalarType compute;     // of the blocks
  ScalarType results[2];  // dtype of results[i]: a compute type or Bool
};

// Reduces the dims in `mask`. The shapes of the outs (one or two) are already set, with or without the reduced dims.
// With `ordered`, a state receives its elements in row-major order.
void run_reduce(KernelRuntimeContext& context, const Tensor& input, DimMask mask, bool keepdim, Span<const Tensor> outs,
                bool ordered, const ReduceFunction& function);

namespace detail {

template <typename T>
struct Results {
  using First = T;
  using Second = T;
  static void put(const T& value, void* const* results) { *static_cast<T*>(results[0]) = value; }
};
template <typename T, typename U>
struct Results<std::pair<T, U>> {
  using First = T;
  using Second = U;
  static void put(const std::pair<T, U>& value, void* const* results) {
    *static_cast<T*>(results[0]) = value.first;
    *static_cast<U*>(results[1]) = value.second;
  }
};

}  // namespace detail

// Reduces with a Function that has `State init() const`, `void update(State&, const C*, int64_t n) const` and
// `finish(const State&) const`, which returns the result, or a std::pair for two outs. Sets the shape of the outs.
template <typename C, size_t N, typename Function>
void reduce(KernelRuntimeContext& context, const Tensor& input, DimMask mask, bool keepdim, const Tensor (&outs)[N],
            const Function& function, bool ordered = false) {
  using State = decltype(function.init());
  using Results = detail::Results<decltype(function.finish(std::declval<const State&>()))>;
  static_assert(sizeof(State) <= kMaxReduceState && std::is_trivially_copyable_v<State>);
  const Shape shape = reduced_shape(input, mask, keepdim);
  for (const Tensor& out : outs) {
    if (!resize_out(context, out, shape.span())) return;
  }
  run_reduce(context, input, mask, keepdim, Span<const Tensor>(outs, N), ordered,
             {[](const void* f, void* state) { *static_cast<State*>(state) = static_cast<const Function*>(f)->init(); },
              [](const void* f, void* state, const void* block, int64_t n) {
                static_cast<const Function*>(f)->update(*static_cast<State*>(state), static_cast<const C*>(block), n);
              },
              [](const void* f, const void* state, void* const* results) {
                Results::put(static_cast<const Function*>(f)->finish(*static_cast<const State*>(state)), results);
              },
              &function,
              sizeof(State),
              scalar_type_of<C>,
              {scalar_type_of<typename Results::First>, scalar_type_of<typename Results::Second>}});
}

}  // namespace rushlight
