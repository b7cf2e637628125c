#include "kernels/shared/convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/shared/accumulator.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/integer.h"
#include "kernels/shared/matmul_tile.h"

namespace rushlight {
namespace {

struct Weight {
  int64_t outputs, inputs;  // channels per group
  int64_t output_stride, input_stride, group_stride;
  int64_t stride[3];
  bool has_contiguous_rows;  // whether the weights of an output are contiguous, in the order of inputs and taps
};

Weight weight_of(const Convolution& c, const Tensor& weight) {
  Weight w;
  const int64_t first = weight.stride(0), second = weight.stride(1);
  if (c.transposed) {
    w.inputs = weight.size(0) / c.groups;
    w.outputs = weight.size(1);
    w.input_stride = first;
    w.output_stride = second;
    w.group_stride = first * w.inputs;
  } else {
    w.outputs = weight.size(0) / c.groups;
    w.inputs = weight.size(1);
    w.output_stride = first;
    w.input_stride = second;
    w.group_stride = first * w.outputs;
  }
  int64_t step = 1;
  w.has_contiguous_rows = true;
  for (int i = 2; i >= 0; --i) {
    w.stride[i] = i < 3 - c.dims ? 0 : weight.stride(2 + i - (3 - c.dims));
    w.has_contiguous_rows &= c.window.kernel[i] == 1 || w.stride[i] == step;
    step *= c.window.kernel[i];
  }
  w.has_contiguous_rows &= w.inputs == 1 || w.input_stride == step;
  return w;
}

// Sets `at` to the coordinates of element `index` of a row-major volume.
inline void coordinates_of(int64_t index, const int64_t (&sizes)[3], int64_t (&at)[3]) {
  for (int axis = 2; axis >= 0; --axis) {
    at[axis] = index % sizes[axis];
    index /= sizes[axis];
  }
}

inline int64_t dot(const int64_t (&a)[3], const int64_t (&b)[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Copies the elements at `offsets`, and zeros for negative offsets.
using Gather = void (*)(const uint8_t* from, const int64_t* offsets, int64_t count, void* to);

template <size_t size>
void gather(const uint8_t* from, const int64_t* offsets, int64_t count, void* to) {
  uint8_t* place = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < count; ++i, place += size) {
    if (offsets[i] < 0) {
      std::memset(place, 0, size);
    } else {
      std::memcpy(place, from + offsets[i] * static_cast<int64_t>(size), size);
    }
  }
}

// Sets the offsets of the elements of a channel that a tap of the window reads for the first `count` output positions
// of a tile; -1 stands for padding. `origins` are the positions that the first tap reads, times the stride for a
// transposed convolution.
void find_sources(const Convolution& c, const ImageLayout& in, const int64_t (&tap)[3], const int64_t (*origins)[3],
                  int64_t count, int64_t* offsets) {
  int64_t shift[3];
  for (int i = 0; i < 3; ++i) shift[i] = tap[i] * c.window.dilation[i] * (c.transposed ? -1 : 1);
  const auto offset_of = [&](int64_t z, int64_t y, int64_t x) {
    const auto is_in = [&](int axis, int64_t at) {
      return static_cast<uint64_t>(at) < static_cast<uint64_t>(in.size[axis]);
    };
    const int64_t offset = z * in.stride[0] + y * in.stride[1] + x * in.stride[2];
    return is_in(0, z) && is_in(1, y) && is_in(2, x) ? offset : -1;
  };
  if (!c.transposed) {
    for (int64_t i = 0; i < count; ++i) {
      offsets[i] = offset_of(origins[i][0] + shift[0], origins[i][1] + shift[1], origins[i][2] + shift[2]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t at[3];
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t stride = c.window.stride[axis], place = origins[i][axis] + shift[axis];
      at[axis] = place % stride == 0 ? place / stride : -1;
    }
    offsets[i] = offset_of(at[0], at[1], at[2]);
  }
}

// Multiplies the weight matrix [outputs, inputs x taps] by the matrix of windows [inputs x taps, positions], in tiles,
// in the compute type C of the elements.
template <typename C>
class TiledConvolution {
 public:
  TiledConvolution(const Convolution& c, const Tensor& in, const Tensor& weight, const std::optional<Tensor>& bias,
                   const Tensor& out, Gather gather)
      : c_(c),
        weight_(weight_of(c, weight)),
        in_(in, c.dims),
        out_(out, c.dims),
        dtype_(in.scalar_type()),
        size_(static_cast<int64_t>(element_size(dtype_))),
        gather_(gather),
        load_(load_function(dtype_, scalar_type_of<C>)),
        store_(store_function(scalar_type_of<C>, dtype_)),
        in_data_(static_cast<const uint8_t*>(in.const_data_ptr())),
        weight_data_(static_cast<const uint8_t*>(weight.const_data_ptr())),
        bias_data_(bias ? static_cast<const uint8_t*>(bias->const_data_ptr()) : nullptr),
        bias_stride_(bias ? bias->stride(0) : 0),
        out_data_(static_cast<uint8_t*>(out.mutable_data_ptr())) {}

  void run(KernelRuntimeContext& context) const {
    const int64_t tasks = out_.batch * c_.groups * row_tiles_ * column_tiles_;
    context.parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
      Tile tile;
      for (int64_t task = begin; task < end; ++task) {
        place(task, tile);
        multiply(tile);
        store_results(tile);
      }
    });
  }

 private:
  using Accumulator = AccumulatorOf<C>;

  // A part of the result: output channels [first_row, first_row + rows) of a group, at some positions of an image.
  struct Tile {
    int64_t batch, group, first_row, rows, columns;
    int64_t positions[kTileColumns][3];  // in the output
    int64_t origins[kTileColumns][3];    // see find_sources()
    MatmulTile<Accumulator> product;
  };

  // Sets everything but the product.
  void place(int64_t task, Tile& tile) const {
    const int64_t first_column = task / row_tiles_ % column_tiles_ * kTileColumns;
    tile.first_row = task % row_tiles_ * kTileRows;
    tile.group = task / (row_tiles_ * column_tiles_) % c_.groups;
    tile.batch = task / (row_tiles_ * column_tiles_ * c_.groups);
    tile.rows = std::min(kTileRows, weight_.outputs - tile.first_row);
    tile.columns = std::min(kTileColumns, out_.volume() - first_column);
    for (int64_t i = 0; i < tile.columns; ++i) {
      coordinates_of(first_column + i, out_.size, tile.positions[i]);
      for (int axis = 0; axis < 3; ++axis) {
        const int64_t at = tile.positions[i][axis], padding = c_.window.padding[axis];
        tile.origins[i][axis] = c_.transposed ? at + padding : at * c_.window.stride[axis] - padding;
      }
    }
  }

  void multiply(Tile& tile) const {
    const uint8_t* const lhs =
        weight_data_ + (tile.group * weight_.group_stride + tile.first_row * weight_.output_stride) * size_;
    int64_t offsets[kTileDepth];  // of the weights, from the start of a row
    tile.product.clear();
    for (int64_t first = 0; first < depth_; first += kTileDepth) {
      const int64_t count = std::min(kTileDepth, depth_ - first);
      pack_windows(tile, first, count, offsets);
      tile.product.multiply(tile.rows, count, [&](int64_t row, Accumulator* to) {
        const uint8_t* const from = lhs + row * weight_.output_stride * size_;
        weight_.has_contiguous_rows ? load_(from + first * size_, 1, to, 1, count) : read(from, offsets, count, to);
      });
    }
  }

  // Writes rows [first, first + count) of the matrix of windows to tile.product.packed, and the offsets of the weights
  // by which they are multiplied.
  void pack_windows(Tile& tile, int64_t first, int64_t count, int64_t* offsets) const {
    const uint8_t* const image =
        in_data_ + (tile.batch * in_.batch_stride + tile.group * weight_.inputs * in_.channel_stride) * size_;
    int64_t sources[kTileColumns];
    for (int64_t k = 0; k < count; ++k) {
      const int64_t channel = (first + k) / taps_;
      int64_t tap[3];
      coordinates_of((first + k) % taps_, c_.window.kernel, tap);
      offsets[k] = channel * weight_.input_stride + dot(tap, weight_.stride);
      if (k == 0 || taps_ > 1) find_sources(c_, in_, tap, tile.origins, tile.columns, sources);
      Accumulator* const row = tile.product.packed[k];
      read(image + channel * in_.channel_stride * size_, sources, tile.columns, row);
      std::fill(row + tile.columns, row + kTileColumns, Accumulator(0));
    }
  }

  // Gathers at most kTileDepth elements and converts them.
  void read(const uint8_t* from, const int64_t* offsets, int64_t count, Accumulator* to) const {
    if (dtype_ == scalar_type_of<C>) return gather_(from, offsets, count, to);
    C elements[kTileDepth];
    gather_(from, offsets, count, elements);
    load_(elements, 1, to, 1, count);
  }

  // Adds the bias to the sums, converts them and writes them to the output.
  void store_results(const Tile& tile) const {
    uint8_t* const target = out_data_ + tile.batch * out_.batch_stride * size_;
    for (int64_t row = 0; row < tile.rows; ++row) {
      const int64_t channel = tile.group * weight_.outputs + tile.first_row + row;
      Accumulator start(0);
      if (bias_data_) load_(bias_data_ + channel * bias_stride_ * size_, 1, &start, 1, 1);
      uint8_t* const plane = target + channel * out_.channel_stride * size_;
      for (int64_t i = 0; i < tile.columns; ++i) {
        const Accumulator sum = tile.product.sums[row][i] + start;
        store_(&sum, 1, plane + dot(tile.positions[i], out_.stride) * size_, 1, 1);
      }
    }
  }

  const Convolution& c_;
  const Weight weight_;
  const ImageLayout in_, out_;
  const ScalarType dtype_;
  const int64_t size_;  // bytes of an element
  const Gather gather_;
  const Convert load_, store_;
  const uint8_t* const in_data_;
  const uint8_t* const weight_data_;
  const uint8_t* const bias_data_;  // null if there is no bias
  const int64_t bias_stride_;
  uint8_t* const out_data_;
  const int64_t taps_ = c_.window.taps();
  const int64_t depth_ = weight_.inputs * taps_;
  const int64_t row_tiles_ = (weight_.outputs + kTileRows - 1) / kTileRows;  // of a group
  const int64_t column_tiles_ = (out_.volume() + kTileColumns - 1) / kTileColumns;
};

// Returns `sum` plus the products small[p] * large[p * stride - padding + tap * dilation] over all positions p of an
// image whose second factor is inside of `large`.
template <typename T>
AccumulatorOf<T> add_products(const Window3d& w, const int64_t (&tap)[3], const ImageLayout& small, const T* small_data,
                              const ImageLayout& large, const T* large_data, AccumulatorOf<T> sum) {
  for (int64_t z = 0; z < small.size[0]; ++z) {
    const int64_t large_z = z * w.stride[0] - w.padding[0] + tap[0] * w.dilation[0];
    if (large_z < 0 || large_z >= large.size[0]) continue;
    for (int64_t y = 0; y < small.size[1]; ++y) {
      const int64_t large_y = y * w.stride[1] - w.padding[1] + tap[1] * w.dilation[1];
      if (large_y < 0 || large_y >= large.size[1]) continue;
      const T* const small_row = small_data + z * small.stride[0] + y * small.stride[1];
      const T* const large_row = large_data + large_z * large.stride[0] + large_y * large.stride[1];
      for (int64_t x = 0; x < small.size[2]; ++x) {
        const int64_t large_x = x * w.stride[2] - w.padding[2] + tap[2] * w.dilation[2];
        if (large_x < 0 || large_x >= large.size[2]) continue;
        sum += static_cast<AccumulatorOf<T>>(small_row[x * small.stride[2]]) *
               static_cast<AccumulatorOf<T>>(large_row[large_x * large.stride[2]]);
      }
    }
  }
  return sum;
}

template <typename T>
void run_weight_gradient(KernelRuntimeContext& context, const Convolution& c, const Tensor& small_tensor,
                         const Tensor& large_tensor, const Tensor& gradient) {
  const ImageLayout small(small_tensor, c.dims), large(large_tensor, c.dims);
  const int64_t rows_of_group = gradient.size(0) / c.groups;
  const int64_t taps = c.window.taps();
  // A task computes element [a, b, tap] of the gradient.
  context.parallel_for(0, gradient.size(0) * gradient.size(1) * taps, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t tap[3], offset = 0;
      coordinates_of(task % taps, c.window.kernel, tap);
      for (int64_t axis = 3 - c.dims; axis < 3; ++axis) {
        offset += tap[axis] * gradient.stride(2 + axis - (3 - c.dims));
      }
      const int64_t b = task / taps % gradient.size(1);
      const int64_t a = task / taps / gradient.size(1);
      const int64_t large_channel = a / rows_of_group * gradient.size(1) + b;
      AccumulatorOf<T> sum(0);
      for (int64_t n = 0; n < small.batch; ++n) {
        const T* const small_data =
            small_tensor.const_data_ptr<T>() + n * small.batch_stride + a * small.channel_stride;
        const T* const large_data =
            large_tensor.const_data_ptr<T>() + n * large.batch_stride + large_channel * large.channel_stride;
        sum = add_products(c.window, tap, small, small_data, large, large_data, sum);
      }
      gradient.mutable_data_ptr<T>()[a * gradient.stride(0) + b * gradient.stride(1) + offset] = static_cast<T>(sum);
    }
  });
}

}  // namespace

bool read_convolution(KernelRuntimeContext& context, const Tensor& in, const Tensor& weight, Span<const int64_t> stride,
                      Span<const int64_t> padding, Span<const int64_t> dilation, bool transposed,
                      Span<const int64_t> output_padding, int64_t groups, Convolution* c) {
  c->dims = weight.dim() - 2;
  c->transposed = transposed;
  c->groups = groups;
  if (c->dims < 1 || c->dims > 3 || (in.dim() != weight.dim() && in.dim() != weight.dim() - 1)) {
    context.fail(Error::InvalidArgument,
                 "convolution needs a weight of rank 3, 4 or 5, not %lld, and an input of the same rank or one less",
                 static_cast<long long>(weight.dim()));
    return false;
  }
  for (int64_t i = 0; i < c->dims; ++i) c->window.kernel[3 - c->dims + i] = weight.size(2 + i);
  if (!read_window_field(context, "stride", stride, c->dims, 1, c->window.stride) ||
      !read_window_field(context, "padding", padding, c->dims, 0, c->window.padding) ||
      !read_window_field(context, "dilation", dilation, c->dims, 1, c->window.dilation) ||
      (transposed && !read_window_field(context, "output_padding", output_padding, c->dims, 0, c->output_padding))) {
    return false;
  }
  const int64_t channels = in.size(in.dim() - c->dims - 1);
  // The number of groups divides the first size of the weight, and has 32 bits too.
  const bool has_groups =
      groups > 0 && groups <= weight.size(0) && weight.sizes()[0] % static_cast<int32_t>(groups) == 0;
  const bool fits = has_groups && channels == (transposed ? weight.size(0) : weight.size(1) * groups);
  if (!fits) {
    context.fail(Error::InvalidArgument,
                 "an input of %lld channels does not match a weight of shape [%lld, %lld, ...] and %lld groups",
                 static_cast<long long>(channels), static_cast<long long>(weight.size(0)),
                 static_cast<long long>(weight.size(1)), static_cast<long long>(groups));
  }
  return fits;
}

Shape convolved_shape(const Convolution& c, const Tensor& in, const Tensor& weight) {
  Shape shape;
  if (in.dim() == weight.dim()) shape.push(in.size(0));
  shape.push(c.transposed ? weight.size(1) * c.groups : weight.size(0));
  for (int axis = 3 - static_cast<int>(c.dims); axis < 3; ++axis) {
    const Window3d& w = c.window;
    const int64_t size = in.size(in.dim() - 3 + axis);
    const int64_t extent = w.dilation[axis] * (w.kernel[axis] - 1);
    if (c.transposed) {
      shape.push((size - 1) * w.stride[axis] - 2 * w.padding[axis] + extent + c.output_padding[axis] + 1);
    } else {
      const int64_t last = size + 2 * w.padding[axis] - extent - 1;
      shape.push(last < 0 ? -1 : quotient(last, w.stride[axis]) + 1);
    }
  }
  return shape;
}

void convolve(KernelRuntimeContext& context, const Convolution& c, const Tensor& in, const Tensor& weight,
              const std::optional<Tensor>& bias, const Tensor& out) {
  Gather function = nullptr;
  switch_element_size(context, in.element_size(),
                      [&](auto tag) { function = gather<sizeof(typename decltype(tag)::type)>; });
  switch_compute<kinds::kAll>(context, in.scalar_type(), [&](auto tag) {
    TiledConvolution<typename decltype(tag)::type>(c, in, weight, bias, out, function).run(context);
  });
}

void convolve_weight_gradient(KernelRuntimeContext& context, const Convolution& c, const Tensor& small,
                              const Tensor& large, const Tensor& gradient) {
  switch_dtype<dtypes::kFloatH>(context, small.scalar_type(), [&](auto tag) {
    run_weight_gradient<typename decltype(tag)::type>(context, c, small, large, gradient);
  });
}

}  // namespace rushlight
