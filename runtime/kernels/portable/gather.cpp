#include "kernels/portable/index.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/gather_loop.h"

namespace rushlight::portable {

void gather_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index, bool sparse_grad,
                Tensor& out) {
  (void)sparse_grad;
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !require_same_dtype(context, in, out)) return;
  if (!require_gather_index(context, in, axis, index, in)) return;
  if (!resize_out(context, out, index.sizes()) || out.numel() == 0) return;
  LoopNest nest = gather_loops(index, out, in, axis);
  nest.sort_by(1);
  nest.collapse();
  switch_element_size(context, in.element_size(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.const_data_ptr<T>();
    T* to = out.mutable_data_ptr<T>();
    context.parallel_for(0, index.numel(), 8192, [&](int64_t begin, int64_t end) {
      for_each_gathered(nest, index, stride_at(in, axis), begin, end,
                        [to, from](int64_t along, int64_t indexed) { to[along] = from[indexed]; });
    });
  });
}

}  // namespace rushlight::portable
