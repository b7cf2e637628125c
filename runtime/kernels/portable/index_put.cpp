#include "kernels/portable/index.h"
#include "kernels/shared/accumulator.h"
#include "kernels/shared/advanced_index.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/element.h"

namespace rushlight::portable {
namespace {

// Computes the strides of `values`, broadcast to `shape`.
bool broadcast_strides(KernelRuntimeContext& context, const Tensor& values, const Shape& shape, int64_t* strides) {
  const int64_t leading = shape.dim - values.dim();
  bool fits = leading >= 0;
  for (int64_t i = 0; i < shape.dim; ++i) strides[i] = 0;
  for (int64_t i = 0; fits && i < values.dim(); ++i) {
    const bool repeated = values.size(i) == 1;
    fits = repeated || values.size(i) == shape.sizes[leading + i];
    if (fits && !repeated) strides[leading + i] = values.stride(i);
  }
  if (!fits) context.fail(Error::InvalidArgument, "values do not broadcast to the indexed shape");
  return fits;
}

// Calls body(element of out, element of values) for every indexed element, in row-major order of the index.
template <typename Body>
void for_each_pair(const AdvancedIndex& index, const int64_t* strides, const StridedLoops& block, const Body& body) {
  index.for_each(strides, 0, index.positions(), [&](int64_t to, int64_t from) {
    int64_t position[StridedLoops::kMaxLoops] = {};
    for (int64_t n = block.numel(); n > 0; --n) {
      body(to, from);
      for (int d = block.count() - 1; d >= 0; --d) {
        to += block[d].src;
        from += block[d].dst;
        if (++position[d] < block[d].size) break;
        to -= block[d].size * block[d].src;
        from -= block[d].size * block[d].dst;
        position[d] = 0;
      }
    }
  });
}

void put(KernelRuntimeContext& context, Span<const std::optional<Tensor>> indices, const Tensor& values,
         bool accumulate, const Tensor& out) {
  AdvancedIndex index;
  if (!index.read(context, out, indices)) return;
  int64_t strides[kMaxDim];
  if (!broadcast_strides(context, values, index.shape(), strides)) return;
  if (checked_numel(index.shape().span()) == 0) return;
  const StridedLoops block = index.block(strides);
  if (!accumulate) {
    switch_element_size(context, out.element_size(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_pair(index, strides, block, [&](int64_t to, int64_t from) {
        out.mutable_data_ptr<T>()[to] = values.const_data_ptr<T>()[from];
      });
    });
    return;
  }
  switch_dtype<dtypes::kAll>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_pair(index, strides, block, [&](int64_t to, int64_t from) {
      T* const sum = out.mutable_data_ptr<T>() + to;
      *sum = add_elements<T>(element(sum), element(values.const_data_ptr<T>() + from));
    });
  });
}

}  // namespace

void index_put_(KernelRuntimeContext& context, Tensor& self, Span<const std::optional<Tensor>> indices,
                const Tensor& values, bool accumulate) {
  if (require_same_dtype(context, self, values)) put(context, indices, values, accumulate, self);
}

void index_put_out(KernelRuntimeContext& context, const Tensor& in, Span<const std::optional<Tensor>> indices,
                   const Tensor& values, bool accumulate, Tensor& out) {
  if (!require_same_dtype(context, in, out) || !require_same_dtype(context, in, values)) return;
  if (!resize_out(context, out, in.sizes())) return;
  copy_elements(context, in, out);
  put(context, indices, values, accumulate, out);
}

}  // namespace rushlight::portable
