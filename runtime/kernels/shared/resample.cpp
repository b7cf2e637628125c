#include "kernels/shared/resample.h"

#include <algorithm>
#include <type_traits>

#include "kernels/shared/axes.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/index_loop.h"
#include "kernels/shared/resample_bytes.h"
#include "kernels/shared/window.h"

namespace rushlight {
namespace {

constexpr int64_t kBlock = 64;  // results that are computed at a time

// The most columns of a block of results whose rows are added before the columns.
constexpr int64_t kMostColumns = 512;

// sums[i] += factor * (the weighted sum of a row for the i-th of n results). `at` is the first entry of `taps`.
template <typename T, typename W>
void add_row(const Taps<W>& taps, int64_t at, const T* row, int64_t stride, W factor, int64_t n, W* sums) {
  const int32_t* index = taps.index + at;
  const W* weight = taps.weight + at;
  const auto add = [&](auto width) {
    for (int64_t i = 0; i < n; ++i, index += width, weight += width) {
      W part = 0;
      for (int64_t x = 0; x < width; ++x) part += weight[x] * static_cast<W>(row[index[x] * stride]);
      sums[i] += factor * part;
    }
  };
  if (taps.width == 2) return add(std::integral_constant<int64_t, 2>());
  add(taps.width);
}

// sums[i] += factor * (the weighted sum of pixels for the i-th of n results). All results have the weights of entry
// `at` of `taps`, and their pixels are `step` elements apart.
template <typename T, typename W>
void add_pixels(const Taps<W>& taps, int64_t at, const T* row, int64_t stride, int64_t step, W factor, int64_t n,
                W* sums) {
  W parts[kBlock] = {};
  for (int64_t x = at; x < at + taps.width; ++x) {
    const T* const from = row + taps.index[x] * stride;
    const W weight = taps.weight[x];
    if (step == 1) {
      for (int64_t i = 0; i < n; ++i) parts[i] += weight * static_cast<W>(from[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) parts[i] += weight * static_cast<W>(from[i * step]);
    }
  }
  for (int64_t i = 0; i < n; ++i) sums[i] += factor * parts[i];
}

// Computes n results of a line, from entry `at` of `columns` on, whose weights for the rows begin at entry `row` of
// `rows`. It adds the rows first, because the results have many columns in common. Returns false if there are too many.
bool add_rows_first(const Taps<float>& rows, int64_t row, const Taps<float>& columns, int64_t at, const float* plane,
                    int64_t row_stride, int64_t n, float* sums) {
  const int64_t first = columns.index[at], count = columns.index[at + n * columns.width - 1] - first + 1;
  if (count > kMostColumns) return false;
  float added[kMostColumns] = {};
  for (int64_t y = row; y < row + rows.width; ++y) {
    const float* const from = plane + rows.index[y] * row_stride + first;
    const float weight = rows.weight[y];
    for (int64_t x = 0; x < count; ++x) added[x] += weight * from[x];
  }
  const int32_t* index = columns.index + at;
  const float* weight = columns.weight + at;
  for (int64_t i = 0; i < n; ++i, index += columns.width, weight += columns.width) {
    float sum = 0;
    for (int64_t x = 0; x < columns.width; ++x) sum += weight[x] * added[index[x] - first];
    sums[i] = sum;
  }
  return true;
}

// Computes elements of the result as weighted sums of elements of type T, in type W. An image has three spatial dims; a
// missing one has a single tap of weight 1.
template <typename T, typename W>
class WeightedSums {
 public:
  WeightedSums(const Resample& r, const Tensor& in) : r_(r), image_(in, r.dims), in_(in.const_data_ptr<T>()) {}

  // Computes the taps. Returns false, and records the failure, if there is no memory.
  bool prepare(KernelRuntimeContext& context) {
    for (int64_t i = 0; i < 3; ++i) {
      taps_[i] = {1, &zero_, &one_};
      if (i >= first_ && !make_taps<W>(context, r_, i - first_, image_.size[i], &taps_[i])) return false;
    }
    return true;
  }

  // Returns the number of terms of a sum.
  int64_t terms() const { return taps_[0].width * taps_[1].width * taps_[2].width; }

  // Computes `count` results along dim `line`, from position `index` on.
  void compute_line(const int64_t* index, int line, int64_t count, T* results) const {
    const T* plane = in_ + index[0] * image_.batch_stride + index[1] * image_.channel_stride;
    int64_t at[3] = {0, 0, 0};  // the first taps of the result
    for (int64_t i = first_; i < 3; ++i) at[i] = index[2 + i - first_] * taps_[i].width;
    for (int64_t done = 0; done < count; done += kBlock) {
      const int64_t n = std::min(kBlock, count - done);
      W sums[kBlock] = {};
      if (line >= 2) {
        add_along(line - 2 + first_, plane, n, at, sums);
      } else {
        const int64_t step = line == 1 ? image_.channel_stride : image_.batch_stride;
        for_each_row(plane, at, [&](const T* row, W weight) {
          add_pixels(taps_[2], at[2], row, image_.stride[2], step, weight, n, sums);
        });
        plane += n * step;
      }
      for (int64_t i = 0; i < n; ++i) results[done + i] = static_cast<T>(sums[i]);
    }
  }

 private:
  // Computes the sums of n results along spatial dim `axis`, and advances `at` to the next result.
  void add_along(int64_t axis, const T* plane, int64_t n, int64_t (&at)[3], W* sums) const {
    if constexpr (std::is_same_v<T, float>) {  // the images of antialiased resizing have two dimensions
      if (axis == 2 && r_.antialias && image_.stride[2] == 1 &&
          add_rows_first(taps_[1], at[1], taps_[2], at[2], plane, image_.stride[1], n, sums)) {
        at[2] += n * taps_[2].width;
        return;
      }
    }
    const int64_t together = axis == 2 ? n : 1;  // number of adjacent results with the same source rows
    for (int64_t i = 0; i < n; i += together, at[axis] += together * taps_[axis].width) {
      for_each_row(plane, at, [&](const T* row, W weight) {
        add_row(taps_[2], at[2], row, image_.stride[2], weight, together, sums + i);
      });
    }
  }

  // Calls body(row, weight) for each source row of a result, whose first taps are `at`.
  template <typename Body>
  void for_each_row(const T* plane, const int64_t* at, const Body& body) const {
    const int64_t z_end = at[0] + taps_[0].width, y_end = at[1] + taps_[1].width;
    for (int64_t z = at[0]; z < z_end; ++z) {
      for (int64_t y = at[1]; y < y_end; ++y) {
        body(plane + taps_[0].index[z] * image_.stride[0] + taps_[1].index[y] * image_.stride[1],
             taps_[0].weight[z] * taps_[1].weight[y]);
      }
    }
  }

  const Resample& r_;
  const ImageLayout image_;
  const T* const in_;
  const int64_t first_ = 3 - r_.dims;  // the first spatial dim that is not missing
  Taps<W> taps_[3];
  const int32_t zero_ = 0;
  const W one_ = 1;
};

template <typename T, typename W>
void run_weighted(KernelRuntimeContext& context, const Resample& r, const Tensor& in, const Tensor& out) {
  WeightedSums<T, W> sums(r, in);
  if (!sums.prepare(context)) return;
  for_each_line(context, out, sums.terms(), [&](const int64_t* index, int line, int64_t offset, int64_t count) {
    sums.compute_line(index, line, count, out.mutable_data_ptr<T>() + offset);
  });
}

// Returns whether eager PyTorch ignores a given factor: it then copies an axis of equal size, and doubles an axis of
// half the size. It does so for two spatial dims, and for three with more than three channels in channels-last order.
bool ignores_factor(const Resample& r, const Tensor& in) {
  if (r.interpolation != Interpolation::Nearest) return false;
  return r.dims == 2 || (r.dims == 3 && in.size(1) > 3 && in.dim_order()[1] != 1);
}

// Each element of the result is a copy of one source element.
template <typename T>
void run_nearest(KernelRuntimeContext& context, const Resample& request, const Tensor& in, const Tensor& out) {
  Resample r = request;
  const ImageLayout image(in, r.dims);
  for (int64_t dim = 0; dim < r.dims && ignores_factor(r, in); ++dim) {
    const int64_t source = image.size[3 - r.dims + dim];
    if (r.size[dim] == source || r.size[dim] == 2 * source) r.scale[dim].reset();
  }
  Taps<float> taps[3];
  for (int64_t dim = 0; dim < r.dims; ++dim) {
    if (!make_taps<float>(context, r, dim, image.size[3 - r.dims + dim], &taps[dim])) return;
  }
  for_each_line(context, out, 4, [&](const int64_t* index, int line, int64_t offset, int64_t count) {
    const T* from = in.const_data_ptr<T>();
    T* const to = out.mutable_data_ptr<T>() + offset;
    if (line != 0) from += index[0] * image.batch_stride;
    if (line != 1) from += index[1] * image.channel_stride;
    for (int dim = 0; dim < r.dims; ++dim) {
      if (line != 2 + dim) from += taps[dim].index[index[2 + dim]] * image.stride[3 - r.dims + dim];
    }
    if (line < 2) {
      const int64_t step = line == 0 ? image.batch_stride : image.channel_stride;
      if (step == 1) {
        std::copy_n(from + index[line], count, to);
      } else {
        for (int64_t i = 0; i < count; ++i) to[i] = from[(index[line] + i) * step];
      }
      return;
    }
    const int32_t* const places = taps[line - 2].index + index[line];
    const int64_t step = image.stride[3 - r.dims + line - 2];
    for (int64_t i = 0; i < count; ++i) to[i] = from[places[i] * step];
  });
}

}  // namespace

bool read_sizes(KernelRuntimeContext& context, Span<const int64_t> sizes, Resample* r) {
  if (static_cast<int64_t>(sizes.size()) != r->dims) {
    context.fail(Error::InvalidArgument, "output_size has %zu values, not %lld", sizes.size(),
                 static_cast<long long>(r->dims));
    return false;
  }
  std::copy(sizes.begin(), sizes.end(), r->size);
  return true;
}

bool read_sizes_or_factors(KernelRuntimeContext& context, const Tensor& in, std::optional<Span<const int64_t>> sizes,
                           std::optional<Span<const double>> factors, Resample* r) {
  if (sizes.has_value() == factors.has_value()) {
    context.fail(Error::InvalidArgument, "either output_size or scale_factors must be given");
    return false;
  }
  if (sizes) return read_sizes(context, *sizes, r);
  if (static_cast<int64_t>(factors->size()) != r->dims || in.dim() != r->dims + 2) {
    context.fail(Error::InvalidArgument, "scale_factors has %zu values, not %lld", factors->size(),
                 static_cast<long long>(r->dims));
    return false;
  }
  for (int64_t i = 0; i < r->dims; ++i) {
    const double factor = (*factors)[static_cast<size_t>(i)];
    const double size = static_cast<double>(in.size(2 + i)) * factor;
    r->scale[i] = factor;
    r->size[i] = size >= 0 && size <= INT32_MAX ? static_cast<int64_t>(size) : -1;
  }
  return true;
}

void resample(KernelRuntimeContext& context, const Resample& r, const Tensor& in, Tensor& out) {
  RL_KERNEL_REQUIRE(context, in.dim() == r.dims + 2, InvalidArgument, "an image of rank %lld is needed, not %lld",
                    static_cast<long long>(r.dims + 2), static_cast<long long>(in.dim()));
  Shape shape;
  shape.push(in.size(0));
  shape.push(in.size(1));
  for (int64_t i = 0; i < r.dims; ++i) {
    RL_KERNEL_REQUIRE(context, in.size(2 + i) > 0 && r.size[i] > 0, InvalidArgument,
                      "dim %lld cannot be resized from %lld to %lld", static_cast<long long>(2 + i),
                      static_cast<long long>(in.size(2 + i)), static_cast<long long>(r.size[i]));
    // This check limits the source positions and the number of weights.
    RL_KERNEL_REQUIRE(context, !r.scale[i] || !(*r.scale[i] > 0) || *r.scale[i] > 0x1p-20, InvalidArgument,
                      "the scale %g is too small", *r.scale[i]);
    shape.push(r.size[i]);
  }
  if (!require_same_dtype(context, in, out) || !resize_out(context, out, shape.span()) || out.numel() == 0) return;
  if (r.interpolation == Interpolation::Nearest || r.interpolation == Interpolation::NearestExact) {
    switch_element_size(context, in.element_size(),
                        [&](auto tag) { run_nearest<typename decltype(tag)::type>(context, r, in, out); });
    return;
  }
  if (in.scalar_type() == ScalarType::Byte && r.dims == 2) {
    resample_bytes(context, r, in, out);
    return;
  }
  static constexpr DtypeSet kTypes = dtypes::kFloatH | DtypeSet(ScalarType::Byte);
  switch_dtype<kTypes>(context, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_weighted<T, std::conditional_t<std::is_same_v<T, double>, double, float>>(context, r, in, out);
  });
}

}  // namespace rushlight
