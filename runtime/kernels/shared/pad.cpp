#include "kernels/shared/pad.h"

#include <algorithm>

#include "core/move_bytes.h"
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

// The widths of the padding, as the argument `padding` lists them.
struct Widths {
  Span<const int64_t> items;
  int64_t rank;  // of the tensor
  int64_t dims;  // number of padded dims

  int64_t first_axis() const { return rank - dims; }
  int64_t before(int64_t axis) const { return items[static_cast<size_t>(2 * (rank - 1 - axis))]; }
  int64_t after(int64_t axis) const { return items[static_cast<size_t>(2 * (rank - 1 - axis) + 1)]; }
};

// Checks the widths and sets `shape` to the shape of the result. If they are invalid, records the failure and returns
// false.
bool padded_shape(KernelRuntimeContext& context, const Tensor& in, const Widths& widths, PadMode mode, Shape* shape) {
  for (int64_t axis = in.dim() - 1; axis >= widths.first_axis(); --axis) {
    const int64_t size = in.size(axis), before = widths.before(axis), after = widths.after(axis);
    const int64_t max_width = mode == PadMode::Reflect ? size - 1 : INT32_MAX;
    if (size <= 0 || before > max_width || after > max_width || before < -size || after < -size ||
        size + before + after < 0) {
      context.fail(Error::InvalidArgument, "dim %lld of size %lld cannot be padded by %lld and %lld",
                   static_cast<long long>(axis), static_cast<long long>(size), static_cast<long long>(before),
                   static_cast<long long>(after));
      return false;
    }
    shape->set(axis, size + before + after);
  }
  return true;
}

// Sets offsets[axis] of each padded axis to a table [size of the axis in `out`] of the source offsets of its positions.
// If there is no memory, records the failure and returns false.
bool make_source_offsets(KernelRuntimeContext& context, const Tensor& in, const Widths& widths, PadMode mode,
                         const Tensor& out, int64_t** offsets) {
  int64_t positions = 0;
  for (int64_t axis = widths.first_axis(); axis < in.dim(); ++axis) positions += out.size(axis);
  int64_t* table = context.allocate_temporary_array<int64_t>(static_cast<size_t>(positions));
  if (!table) return false;
  for (int64_t axis = widths.first_axis(); axis < in.dim(); ++axis) {
    offsets[axis] = table;
    for (int64_t i = 0; i < out.size(axis); ++i) {
      *table++ = source_of(i - widths.before(axis), in.size(axis), mode) * in.stride(axis);
    }
  }
  return true;
}

}  // namespace

void pad_with_input_elements(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> padding, int64_t dims,
                             PadMode mode, Tensor& out) {
  const int64_t rank = in.dim();
  RL_KERNEL_REQUIRE(context, static_cast<int64_t>(padding.size()) == 2 * dims && (rank == dims + 1 || rank == dims + 2),
                    InvalidArgument, "%zu pad widths for %lld dims do not match a tensor of rank %lld", padding.size(),
                    static_cast<long long>(dims), static_cast<long long>(rank));
  const Widths widths{padding, rank, dims};
  Shape shape(in.sizes());
  if (!padded_shape(context, in, widths, mode, &shape) || !require_same_dtype(context, in, out) ||
      !resize_out(context, out, shape.span()) || out.numel() == 0) {
    return;
  }
  int64_t* offsets[kMaxDim] = {};  // null for the other axes
  if (!make_source_offsets(context, in, widths, mode, out, offsets)) return;
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = in.const_data_ptr<T>();
    T* const to = out.mutable_data_ptr<T>();
    for_each_line(context, out, 4, [&](const int64_t* index, int line, int64_t offset, int64_t count) {
      const T* source = from;
      for (int64_t axis = 0; axis < rank; ++axis) {
        if (axis != line) source += offsets[axis] ? offsets[axis][index[axis]] : index[axis] * in.stride(axis);
      }
      const int64_t begin = index[line], end = begin + count, stride = in.stride(line);
      const int64_t* const places = offsets[line];
      T* const result = to + offset - begin;
      if (!places) {
        for (int64_t i = begin; i < end; ++i) result[i] = source[i * stride];
        return;
      }
      const auto copy = [source, places, result](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) result[i] = source[places[i]];
      };
      // The positions from `inside` to `outside` are the elements of the input in their order.
      const int64_t before = widths.before(line);
      const int64_t inside = std::clamp(before, begin, end);
      const int64_t outside = std::clamp(before + in.size(line), inside, end);
      copy(begin, inside);
      if (stride == 1 && outside > inside) {
        move_bytes(result + inside, source + places[inside], static_cast<size_t>(outside - inside) * sizeof(T));
      } else {
        copy(inside, outside);
      }
      copy(outside, end);
    });
  });
}

}  // namespace rushlight
