#include "kernels/shared/index_slices.h"

#include "kernels/shared/strided_copy.h"

namespace rushlight {

bool begin_index_slices(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                        const Tensor& source, const Tensor& out, int64_t* axis) {
  if (!normalize_dim(context, dim, in.dim(), axis) || !require_same_dtype(context, in, out)) return false;
  if (!require_same_dtype(context, in, source)) return false;
  if (index.dim() > 1 || !require_indices(context, index, 0, size_at(in, *axis))) {
    if (index.dim() > 1) context.fail(Error::InvalidArgument, "the index has more than one dim");
    return false;
  }
  if (source.impl() != in.impl()) {
    bool fits = source.dim() == in.dim() || in.dim() <= 1;
    for (int64_t i = 0; fits && i < in.dim(); ++i) fits = i == *axis || source.size(i) == in.size(i);
    if (!fits || size_at(source, *axis) != index.numel() || source.dim() > (in.dim() > 0 ? in.dim() : 1)) {
      context.fail(Error::InvalidArgument, "the source does not have one slice per index");
      return false;
    }
  }
  if (!resize_out(context, out, in.sizes())) return false;
  copy_elements(context, in, out);
  return out.numel() != 0 && index.numel() != 0;
}

}  // namespace rushlight
