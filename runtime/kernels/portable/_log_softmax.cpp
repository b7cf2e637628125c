#include "kernels/portable/reduction.h"
#include "kernels/shared/reduce.h"
#include "kernels/shared/softmax.h"

namespace rushlight::portable {

void log_softmax_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, bool, Tensor& out) {
  int64_t axis;
  if (!normalize_dim(context, dim, in.dim(), &axis) || !resize_out_like(context, out, in)) return;
  switch_compute<kinds::kFloating>(context, in.scalar_type(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    softmax_rows<C, true>(context, in, axis, out);
  });
}

}  // namespace rushlight::portable
