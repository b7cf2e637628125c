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

// Puts n values into a row of elements, or adds them to the elements. The steps are numbers of elements.
using RowFunction = void (*)(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t n);

template <typename T>
void put_row(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t n) {
  T* const elements = static_cast<T*>(to);
  const T* const values = static_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) elements[i * to_step] = values[i * from_step];
}

template <typename T>
void add_row(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t n) {
  T* const elements = static_cast<T*>(to);
  const T* const values = static_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) {
    T* const sum = elements + i * to_step;
    *sum = add_elements<T>(element(sum), element(values + i * from_step));
  }
}

// Calls row() for the innermost loop of `block` at each indexed position, in row-major order of the index.
void for_each_row(const AdvancedIndex& index, const int64_t* strides, const StridedLoops& block, const Tensor& out,
                  const Tensor& values, RowFunction row) {
  const auto size = static_cast<int64_t>(out.element_size());
  const int outer = block.count() > 0 ? block.count() - 1 : 0;  // number of outer loops
  const StridedLoops::Loop inner = block.count() > 0 ? block[outer] : StridedLoops::Loop{1, 0, 0};
  if (inner.size == 0) return;
  const int64_t rows = block.numel() / inner.size;
  index.for_each(strides, 0, index.positions(), [&](int64_t to, int64_t from) {
    int64_t position[StridedLoops::kMaxLoops] = {};
    for (int64_t n = rows; n > 0; --n) {
      row(static_cast<char*>(out.mutable_data_ptr()) + to * size, inner.src,
          static_cast<const char*>(values.const_data_ptr()) + from * size, inner.dst, inner.size);
      for (int d = outer - 1; d >= 0; --d) {
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
  RowFunction row = nullptr;
  if (accumulate) {
    switch_dtype<dtypes::kAll>(context, out.scalar_type(),
                               [&](auto tag) { row = &add_row<typename decltype(tag)::type>; });
  } else {
    switch_element_size(context, out.element_size(), [&](auto tag) { row = &put_row<typename decltype(tag)::type>; });
  }
  if (row) for_each_row(index, strides, index.block(strides), out, values, row);
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
