#include "kernels/shared/scatter.h"

#include <limits>

#include "kernels/shared/accumulator.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/fill.h"
#include "kernels/shared/gather_loop.h"
#include "kernels/shared/integer.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {
namespace {

template <typename T>
bool is_nan(T value) {
  return value != value;
}

template <typename T>
T combine(ScatterReduction reduction, T old, T value) {
  switch (reduction) {
    case ScatterReduction::Assign:
      return value;
    case ScatterReduction::Sum:
    case ScatterReduction::Mean:
      return add_elements(old, value);
    case ScatterReduction::Product:
      return multiply_elements(old, value);
    case ScatterReduction::Maximum:
      return is_nan(old) || old >= value ? old : value;
    case ScatterReduction::Minimum:
      return is_nan(old) || old <= value ? old : value;
  }
  return value;
}

template <typename T>
T identity(ScatterReduction reduction) {
  constexpr bool integral = std::is_integral_v<T>;
  switch (reduction) {
    case ScatterReduction::Product:
      return T(1);
    case ScatterReduction::Maximum:
      if constexpr (integral) return std::numeric_limits<T>::lowest();
      return T(-std::numeric_limits<float>::infinity());
    case ScatterReduction::Minimum:
      if constexpr (integral) return std::numeric_limits<T>::max();
      return T(std::numeric_limits<float>::infinity());
    default:
      return T(0);
  }
}

template <typename T>
T mean_of(T sum, int64_t count) {
  if constexpr (std::is_same_v<T, bool>) {
    return sum;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(floor_div(static_cast<int64_t>(sum), count));
  } else if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(sum) / static_cast<float>(count));
  } else {
    return sum / static_cast<T>(count);
  }
}

// `along` has the same positions as the index; `value(offset in along)` returns the element of the source.
template <typename T, typename Value>
void reduce_into(KernelRuntimeContext& context, const Tensor& out, int64_t axis, const Tensor& index,
                 const Tensor& along, ScatterReduction reduction, bool include_self, const Value& value) {
  const LoopNest nest = gather_loops(index, along, out, axis);
  T* to = out.mutable_data_ptr<T>();
  const int64_t stride = stride_at(out, axis);
  const auto visit = [&](const auto& body) { for_each_gathered(nest, index, stride, 0, index.numel(), body); };
  if (!include_self) {
    const T first = identity<T>(reduction);
    visit([&](int64_t, int64_t at) { to[at] = first; });
  }
  visit([&](int64_t from, int64_t at) { to[at] = combine<T>(reduction, to[at], value(from)); });
  if (reduction != ScatterReduction::Mean) return;
  int32_t* counts = context.allocate_temporary_array<int32_t>(static_cast<size_t>(out.numel()));
  if (!counts) return;
  std::fill(counts, counts + out.numel(), include_self ? 1 : 0);
  visit([&](int64_t, int64_t at) { ++counts[at]; });
  for (int64_t i = 0; i < out.numel(); ++i) {
    if (counts[i] > 1) to[i] = mean_of<T>(to[i], counts[i]);
  }
}

// Checks all arguments except the source, and copies `in`.
bool begin_scatter(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, const Tensor& src,
                   Tensor& out, int64_t* axis) {
  if (!normalize_dim(context, dim, in.dim(), axis) || !require_same_dtype(context, in, out)) return false;
  if (!require_gather_index(context, in, *axis, index, src)) return false;
  if (!resize_out(context, out, in.sizes())) return false;
  copy_elements(context, in, out);
  return index.numel() != 0;
}

}  // namespace

bool scatter_reduction(KernelRuntimeContext& context, std::string_view name, bool scatter_reduce,
                       ScatterReduction* reduction) {
  using R = ScatterReduction;
  if (scatter_reduce) {
    if (name == "sum") return *reduction = R::Sum, true;
    if (name == "prod") return *reduction = R::Product, true;
    if (name == "mean") return *reduction = R::Mean, true;
    if (name == "amax") return *reduction = R::Maximum, true;
    if (name == "amin") return *reduction = R::Minimum, true;
  } else {
    if (name == "add") return *reduction = R::Sum, true;
    if (name == "multiply") return *reduction = R::Product, true;
  }
  context.fail(Error::InvalidArgument, "there is no reduction '%.*s'", static_cast<int>(name.size()), name.data());
  return false;
}

void scatter(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, const Tensor& src,
             ScatterReduction reduction, bool include_self, Tensor& out) {
  int64_t axis;
  if (!require_same_dtype(context, in, src) || !begin_scatter(context, in, dim, index, src, out, &axis)) return;
  if (reduction == ScatterReduction::Assign) {
    switch_element_size(context, in.element_size(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const LoopNest nest = gather_loops(index, src, out, axis);
      for_each_gathered(nest, index, stride_at(out, axis), 0, index.numel(), [&](int64_t from, int64_t to) {
        out.mutable_data_ptr<T>()[to] = src.const_data_ptr<T>()[from];
      });
    });
    return;
  }
  switch_dtype<dtypes::kRealHB>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = src.const_data_ptr<T>();
    reduce_into<T>(context, out, axis, index, src, reduction, include_self, [&](int64_t i) { return from[i]; });
  });
}

void scatter_number(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                    const Scalar& number, ScatterReduction reduction, Tensor& out) {
  int64_t axis;
  if (!begin_scatter(context, in, dim, index, in, out, &axis)) return;
  alignas(16) uint8_t element[kMaxElementSize];
  store_number(number, in.scalar_type(), element);
  if (reduction == ScatterReduction::Assign) {
    switch_element_size(context, in.element_size(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T value = *reinterpret_cast<const T*>(element);
      const LoopNest nest = gather_loops(index, index, out, axis);
      for_each_gathered(nest, index, stride_at(out, axis), 0, index.numel(),
                        [&](int64_t, int64_t to) { out.mutable_data_ptr<T>()[to] = value; });
    });
    return;
  }
  switch_dtype<dtypes::kRealHB>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = *reinterpret_cast<const T*>(element);
    reduce_into<T>(context, out, axis, index, index, reduction, true, [&](int64_t) { return value; });
  });
}

}  // namespace rushlight
