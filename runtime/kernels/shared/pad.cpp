#include "kernels/shared/pad.h"

#include <algorithm>
#include <cstring>

#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/index_loop.h"

namespace rushlight {
namespace {

// Returns the source position for position `p`, relative to the first element, of an axis of `size` elements.
int64_t source_of(int64_t p, int64_t size, PadMode mode) {
  if (mode == PadMode::Replicate) return std::clamp<int64_t>(p, 0, size - 1);
  if (p < 0) return -p;
  return p < size ? p : 2 * (size - 1) - p;
}

}  // namespace

void pad_with_input_elements(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, int64_t dims,
                             PadMode mode, Tensor& out) {
  const int64_t rank = in.dim();
  RL_KERNEL_REQUIRE(context, static_cast<int64_t>(padding.size()) == 2 * dims && (rank == dims + 1 || rank == dims + 2),
                    InvalidArgument, "%zu pad widths for %lld dims do not match a tensor of rank %lld", padding.size(),
                    static_cast<long long>(dims), static_cast<long long>(rank));
  Shape shape(in.sizes());
  int64_t table_size = 0;
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t axis = rank - 1 - i, size = in.size(axis);
    const int64_t before = padding[static_cast<size_t>(2 * i)], after = padding[static_cast<size_t>(2 * i + 1)];
    const int64_t max_width = mode == PadMode::Reflect ? size - 1 : INT32_MAX;
    RL_KERNEL_REQUIRE(context,
                      size > 0 && before <= max_width && after <= max_width && before >= -size && after >= -size &&
                          size + before + after >= 0,
                      InvalidArgument, "dim %lld of size %lld cannot be padded by %lld and %lld",
                      static_cast<long long>(axis), static_cast<long long>(size), static_cast<long long>(before),
                      static_cast<long long>(after));
    shape.set(axis, size + before + after);
    table_size += size + before + after;
  }
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span()) || out.numel() == 0) return;
  int64_t* offsets[kMaxDim] = {};  // [size of the padded axis], source offset of each position
  int64_t* table = context.allocate_temporary_array<int64_t>(static_cast<size_t>(table_size));
  if (!table) return;
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t axis = rank - 1 - i;
    offsets[axis] = table;
    for (int64_t j = 0; j < out.size(axis); ++j) {
      *table++ = source_of(j - padding[static_cast<size_t>(2 * i)], in.size(axis), mode) * in.stride(axis);
    }
  }
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.const_data_ptr<T>();
    T* to = out.mutable_data_ptr<T>();
    for_each_line(context, out, 4, [&](const int64_t* index, int line, int64_t offset, int64_t count) {
      const T* source = from;
      for (int64_t axis = 0; axis < rank; ++axis) {
        if (axis != line) source += offsets[axis] ? offsets[axis][index[axis]] : index[axis] * in.stride(axis);
      }
      const int64_t first = index[line], end = first + count, stride = in.stride(line);
      const int64_t* const places = offsets[line];
      if (!places) {
        for (int64_t i = 0; i < count; ++i) to[offset + i] = source[(first + i) * stride];
        return;
      }
      // The elements from `inside` to `outside` are those of the input in their order.
      const int64_t before = padding[static_cast<size_t>(2 * (rank - 1 - line))];
      const int64_t inside = std::clamp(before, first, end);
      const int64_t outside = std::clamp(before + in.size(line), inside, end);
      T* const result = to + offset - first;
      for (int64_t i = first; i < inside; ++i) result[i] = source[places[i]];
      if (stride == 1 && outside > inside) {
        std::memcpy(result + inside, source + places[inside], static_cast<size_t>(outside - inside) * sizeof(T));
      } else {
        for (int64_t i = inside; i < outside; ++i) result[i] = source[places[i]];
      }
      for (int64_t i = outside; i < end; ++i) result[i] = source[places[i]];
    });
  });
}

}  // namespace rushlight
