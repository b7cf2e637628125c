#include <optional>

#include "kernels/portable/reduction.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/vector_norm.h"

namespace rushlight::portable {

namespace {

// Computes the distances of the rows of `a` [P, M] to the rows of `b` [R, M].
template <typename C>
struct Distances {
  const Tensor& a;
  const Tensor& b;
  Convert load_a, load_b;
  PowerSum power;

  double between(int64_t first, int64_t second) const {
    constexpr int64_t kBlock = 128;
    C x[kBlock], y[kBlock];
    const int64_t length = a.size(a.dim() - 1), stride_a = a.stride(a.dim() - 1), stride_b = b.stride(b.dim() - 1);
    double state = power.start();
    for (int64_t i = 0; i < length; i += kBlock) {
      const int64_t n = length - i < kBlock ? length - i : kBlock;
      load_a(at(a, first + i * stride_a), stride_a, x, 1, n);
      load_b(at(b, second + i * stride_b), stride_b, y, 1, n);
      state = power.add(state, n, [&](int64_t j) { return static_cast<double>(x[j]) - static_cast<double>(y[j]); });
    }
    return length > 0 ? power.finish(state) : 0;
  }
};

}  // namespace

void cdist_forward_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, double p,
                       std::optional<int64_t>, Tensor& out) {
  const int64_t rank_a = a.dim(), rank_b = b.dim();
  RL_KERNEL_REQUIRE(context, rank_a >= 2 && rank_b >= 2 && a.size(rank_a - 1) == b.size(rank_b - 1), InvalidArgument,
                    "the points need rank 2 or more and equal lengths; their ranks are %lld and %lld",
                    static_cast<long long>(rank_a), static_cast<long long>(rank_b));
  RL_KERNEL_REQUIRE(context, p >= 0, InvalidArgument, "p is negative");
  Shape shape;
  if (!broadcast_shape(context, shape, a.sizes().subspan(0, static_cast<size_t>(rank_a - 2))) ||
      !broadcast_shape(context, shape, b.sizes().subspan(0, static_cast<size_t>(rank_b - 2)))) {
    return;
  }
  const int batch = shape.dim;
  shape.push(a.size(rank_a - 2));
  shape.push(b.size(rank_b - 2));
  if (!resize_out(context, out, shape.span()) || out.numel() == 0) return;

  // The operands are out, a and b. a has stride 0 along the last dim of out, b along the second last dim.
  LoopNest nest = LoopNest::over(shape.span());
  nest.operands = 3;
  for (int d = 0; d < nest.dim; ++d) {
    const auto stride = [&](const Tensor& points, int64_t broadcast_dim) -> int64_t {
      const int64_t axis = d - batch + points.dim() - 2;
      if (d >= batch) return d - batch == broadcast_dim ? 0 : points.stride(points.dim() - 2);
      return axis < 0 || points.size(axis) == 1 ? 0 : points.stride(axis);
    };
    nest.stride[0][d] = out.stride(d);
    nest.stride[1][d] = stride(a, 1);
    nest.stride[2][d] = stride(b, 0);
  }
  switch_compute<kinds::kFloating>(context, result_type(a, b), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Distances<C> distances{a, b, load_function(a.scalar_type(), scalar_type_of<C>),
                                 load_function(b.scalar_type(), scalar_type_of<C>), PowerSum(p)};
    const Convert store = store_function(ScalarType::Double, out.scalar_type());
    context.parallel_for(0, out.numel(), 64, [&](int64_t begin, int64_t end) {
      for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const double distance =
              distances.between(offsets[1] + i * nest.inner_stride(1), offsets[2] + i * nest.inner_stride(2));
          store(&distance, 1, at(out, offsets[0] + i * nest.inner_stride(0)), 1, 1);
        }
      });
    });
  });
}

}  // namespace rushlight::portable
