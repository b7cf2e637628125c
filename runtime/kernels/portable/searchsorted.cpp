#include <optional>
#include <string_view>

#include "kernels/portable/reduction.h"
#include "kernels/shared/binary_search.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/loop_nest.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/shape.h"

namespace rushlight::portable {

void searchsorted_tensor_out(KernelRuntimeContext& context, const Tensor& sorted, const Tensor& in, bool, bool right,
                             std::optional<std::string_view> side, const std::optional<Tensor>& sorter, Tensor& out) {
  const int64_t rank = sorted.dim();
  bool fits = rank >= 1 && (rank == 1 || rank == in.dim());
  for (int64_t d = 0; fits && rank > 1 && d + 1 < rank; ++d) fits = sorted.size(d) == in.size(d);
  RL_KERNEL_REQUIRE(context, fits, InvalidArgument, "the sorted sequences and the values differ in a leading dim");
  RL_KERNEL_REQUIRE(context, !sorter || (sorter->scalar_type() == ScalarType::Long && same_shape(*sorter, sorted)),
                    InvalidArgument, "the sorter is not an int64 tensor with the shape of the sequences");
  RL_KERNEL_REQUIRE(context, !side || *side == "left" || *side == "right", InvalidArgument,
                    "side is not 'left' or 'right'");
  if (!resize_out_like(context, out, in)) return;
  const bool right_side = side ? *side == "right" : right;
  const int64_t length = sorted.size(rank - 1), step = sorted.stride(rank - 1);
  // The operands are in, out, sorted and sorter. Along the last dim, the last two have stride 0.
  LoopNest nest = LoopNest::over(in.sizes());
  nest.operands = 4;
  for (int d = 0; d < nest.dim; ++d) {
    const bool has_sequences = rank > 1 && d + 1 < rank;
    nest.stride[0][d] = in.stride(d);
    nest.stride[1][d] = out.stride(d);
    nest.stride[2][d] = has_sequences ? sorted.stride(d) : 0;
    nest.stride[3][d] = has_sequences && sorter ? sorter->stride(d) : 0;
  }
  const ScalarType common = promote_types(in.scalar_type(), sorted.scalar_type());
  switch_compute<kinds::kReal>(context, common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Convert load = load_function(in.scalar_type(), scalar_type_of<C>);
    const Convert load_sorted = load_function(sorted.scalar_type(), scalar_type_of<C>);
    const Convert store = store_function(ScalarType::Long, out.scalar_type());
    context.parallel_for(0, in.numel(), 512, [&](int64_t begin, int64_t end) {
      for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          C x;
          load(at(in, offsets[0] + i * nest.inner_stride(0)), 1, &x, 1, 1);
          const int64_t index = count_below<C>(length, x, right_side, [&](int64_t k) {
            if (sorter) k = sorter->const_data_ptr<int64_t>()[offsets[3] + k * sorter->stride(rank - 1)];
            C y{};
            if (k >= 0 && k < length) load_sorted(at(sorted, offsets[2] + k * step), 1, &y, 1, 1);
            return y;
          });
          store(&index, 1, at(out, offsets[1] + i * nest.inner_stride(1)), 1, 1);
        }
      });
    });
  });
}

}  // namespace rushlight::portable
