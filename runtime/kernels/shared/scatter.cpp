#include "kernels/shared/scatter.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/shared/accumulator.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"
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

// The source of a scatter: either `src`, which has the same positions as the index, or one number.
struct Source {
  const Tensor& along;  // the tensor whose strides the loop uses: `src`, or the index if the source is a number
  const void* data;
  int64_t step;  // 1 for `src`, 0 for a number
};

template <typename T>
void assign(const Tensor& out, int64_t axis, const Tensor& index, const Source& source) {
  const LoopNest nest = gather_loops(index, source.along, out, axis);
  T* const to = out.mutable_data_ptr<T>();
  const T* const from = static_cast<const T*>(source.data);
  for_each_gathered(nest, index, stride_at(out, axis), 0, index.numel(),
                    [=, step = source.step](int64_t i, int64_t at) { to[at] = from[i * step]; });
}

void assign_source(KernelRuntimeContext& context, const Tensor& out, int64_t axis, const Tensor& index,
                   const Source& source) {
  switch_element_size(context, out.element_size(),
                      [&](auto tag) { assign<typename decltype(tag)::type>(out, axis, index, source); });
}

template <typename T>
void reduce_into(const Tensor& out, int64_t axis, const Tensor& index, const Source& source,
                 ScatterReduction reduction) {
  const LoopNest nest = gather_loops(index, source.along, out, axis);
  T* const to = out.mutable_data_ptr<T>();
  const T* const from = static_cast<const T*>(source.data);
  const int64_t step = source.step;
  const auto visit = [&](const auto& body) {
    for_each_gathered(nest, index, stride_at(out, axis), 0, index.numel(), body);
  };
  if (reduction == ScatterReduction::Sum || reduction == ScatterReduction::Mean) {
    visit([=](int64_t i, int64_t at) { to[at] = add_elements(element(to + at), element(from + i * step)); });
  } else {
    visit([=](int64_t i, int64_t at) { to[at] = combine<T>(reduction, element(to + at), element(from + i * step)); });
  }
}

// Divides each number by the count of its terms.
void divide_by_counts(KernelRuntimeContext& context, const Tensor& out, int64_t axis, const Tensor& index,
                      const Source& source, bool include_self) {
  int32_t* counts = context.allocate_temporary_array<int32_t>(static_cast<size_t>(out.numel()));
  if (!counts) return;
  std::fill(counts, counts + out.numel(), include_self ? 1 : 0);
  for_each_gathered(gather_loops(index, source.along, out, axis), index, stride_at(out, axis), 0, index.numel(),
                    [=](int64_t, int64_t at) { ++counts[at]; });
  switch_dtype<dtypes::kRealHB>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const to = out.mutable_data_ptr<T>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      if (counts[i] > 1) to[i] = mean_of<T>(to[i], counts[i]);
    }
  });
}

void scatter_source(KernelRuntimeContext& context, const Tensor& out, int64_t axis, const Tensor& index,
                    const Source& source, ScatterReduction reduction, bool include_self) {
  if (reduction == ScatterReduction::Assign) return assign_source(context, out, axis, index, source);
  if (!include_self) {
    alignas(16) uint8_t first[kMaxElementSize] = {};
    switch_dtype<dtypes::kRealHB>(context, out.scalar_type(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T number = identity<T>(reduction);
      std::memcpy(first, &number, sizeof(T));
    });
    if (context.failed()) return;
    assign_source(context, out, axis, index, {source.along, first, 0});
  }
  switch_dtype<dtypes::kRealHB>(context, out.scalar_type(), [&](auto tag) {
    reduce_into<typename decltype(tag)::type>(out, axis, index, source, reduction);
  });
  if (reduction == ScatterReduction::Mean) divide_by_counts(context, out, axis, index, source, include_self);
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
  context.fail(Error::InvalidArgument, "the reduction '%.*s' is not supported", static_cast<int>(name.size()),
               name.data());
  return false;
}

void scatter(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, const Tensor& src,
             ScatterReduction reduction, bool include_self, Tensor& out) {
  int64_t axis;
  if (!require_same_dtype(context, in, src) || !begin_scatter(context, in, dim, index, src, out, &axis)) return;
  scatter_source(context, out, axis, index, {src, src.const_data_ptr(), 1}, reduction, include_self);
}

void scatter_number(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                    const Scalar& number, ScatterReduction reduction, Tensor& out) {
  int64_t axis;
  if (!begin_scatter(context, in, dim, index, in, out, &axis)) return;
  alignas(16) uint8_t element[kMaxElementSize];
  store_number(number, in.scalar_type(), element);
  scatter_source(context, out, axis, index, {index, element, 0}, reduction, true);
}

}  // namespace rushlight
