#include <algorithm>

#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/index_loop.h"
#include "kernels/shared/pooling.h"

namespace rushlight {
namespace {

// A box of input positions: begin[i] <= position[i] < end[i].
struct Box {
  int64_t begin[3] = {0, 0, 0};
  int64_t end[3] = {1, 1, 1};
  int64_t volume() const {
    int64_t product = 1;
    for (int i = 0; i < 3; ++i) product *= std::max<int64_t>(0, end[i] - begin[i]);
    return product;
  }
};

template <typename Sum, typename T>
Sum sum_of(const T* plane, const ImageLayout& image, const Box& box) {
  Sum sum = 0;
  for (int64_t z = box.begin[0]; z < box.end[0]; ++z) {
    for (int64_t y = box.begin[1]; y < box.end[1]; ++y) {
      const T* row = plane + z * image.stride[0] + y * image.stride[1];
      for (int64_t x = box.begin[2]; x < box.end[2]; ++x) sum += static_cast<Sum>(row[x * image.stride[2]]);
    }
  }
  return sum;
}

// Sums of 16-bit floats are float, sums of integers are int64_t.
template <typename T>
using SumOf = std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<sizeof(T) == 2, float, T>>;

// Computes out[...] = sum of the elements of box(position) / divisor(position) for each spatial position.
template <typename T, typename BoxOf>
void average_boxes(KernelRuntimeContext& context, const Tensor& in, int64_t dims, int64_t work, Tensor& out,
                   const BoxOf& box_of) {
  const ImageLayout image(in, dims);
  const int64_t channel = out.dim() - dims - 1;
  for_each_index(context, out, work, [&](const int64_t* index, int64_t offset) {
    Box box;
    const int64_t divisor = box_of(index + channel + 1, &box);
    const T* plane = in.const_data_ptr<T>() + (channel > 0 ? index[0] * image.batch_stride : 0) +
                     index[channel] * image.channel_stride;
    const auto sum = sum_of<SumOf<T>>(plane, image, box);
    out.mutable_data_ptr<T>()[offset] = divisor == 0 ? T(0) : static_cast<T>(sum / static_cast<SumOf<T>>(divisor));
  });
}

}  // namespace

void average_pool(KernelRuntimeContext& context, const AveragePooling& pooling, const Tensor& in, Tensor& out) {
  Shape shape;
  if (!pooled_shape(context, pooling, in, &shape)) return;
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span())) return;
  const int64_t dims = pooling.dims;
  const ImageLayout image(in, dims);
  const Window3d& w = pooling.window;
  static constexpr DtypeSet kTypes = dtypes::kFloatH | dtypes::kInt;
  switch_dtype<kTypes>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    average_boxes<T>(context, in, dims, w.taps(), out, [&](const int64_t* position, Box* box) -> int64_t {
      int64_t padded = 1;
      for (int i = static_cast<int>(3 - dims); i < 3; ++i) {
        const int64_t begin = position[i - (3 - dims)] * w.stride[i] - w.padding[i];
        const int64_t end = std::min(begin + w.kernel[i], image.size[i] + w.padding[i]);
        padded *= end - begin;
        box->begin[i] = std::max<int64_t>(begin, 0);
        box->end[i] = std::min(end, image.size[i]);
      }
      const int64_t covered = box->volume();
      if (covered == 0) return 0;
      if (pooling.divisor != 0) return pooling.divisor;
      return pooling.count_padding ? padded : covered;
    });
  });
}

void adaptive_average_pool(KernelRuntimeContext& context, const Tensor& in, Span<const int64_t> output_size,
                           Tensor& out) {
  const int64_t dims = static_cast<int64_t>(output_size.size());
  Shape shape;
  if (!adaptive_shape(context, in, output_size, &shape)) return;
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span()) || out.numel() == 0) return;
  const ImageLayout image(in, dims);
  const int64_t work = image.volume() / ImageLayout(out, dims).volume() + 1;
  static constexpr DtypeSet kTypes = dtypes::kFloatH | dtypes::kInt;
  switch_dtype<kTypes>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    average_boxes<T>(context, in, dims, work, out, [&](const int64_t* position, Box* box) -> int64_t {
      for (int i = static_cast<int>(3 - dims); i < 3; ++i) {
        const int64_t place = i - (3 - dims);
        const int64_t count = output_size[static_cast<size_t>(place)];
        adaptive_range(position[place], image.size[i], count, &box->begin[i], &box->end[i]);
      }
      return box->volume();
    });
  });
}

}  // namespace rushlight
