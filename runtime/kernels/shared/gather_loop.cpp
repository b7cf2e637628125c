#include "kernels/shared/gather_loop.h"

namespace rushlight {

bool require_gather_shapes(KernelRuntimeContext& context, const Tensor& indexed, int64_t axis, const Tensor& index,
                           const Tensor& other) {
  if (index.numel() == 0) return true;
  const int64_t rank = std::max<int64_t>(indexed.dim(), 1);
  bool fits = std::max<int64_t>(index.dim(), 1) == rank && std::max<int64_t>(other.dim(), 1) == rank;
  for (int64_t i = 0; fits && i < rank; ++i) {
    fits = (i == axis || size_at(index, i) <= size_at(indexed, i)) &&
           (other.impl() == indexed.impl() || size_at(index, i) <= size_at(other, i));
  }
  if (!fits) {
    context.fail(Error::InvalidArgument, "the index has more dims or elements than the indexed tensor or the source");
    return false;
  }
  return true;
}

bool require_gather_index(KernelRuntimeContext& context, const Tensor& indexed, int64_t axis, const Tensor& index,
                          const Tensor& other) {
  return require_gather_shapes(context, indexed, axis, index, other) &&
         (index.numel() == 0 || require_indices(context, index, 0, size_at(indexed, axis)));
}

LoopNest gather_loops(const Tensor& index, const Tensor& along, const Tensor& indexed, int64_t axis) {
  LoopNest nest;
  nest.operands = 3;
  for (int64_t i = 0; i < index.dim(); ++i) {
    nest.push(index.size(i), {index.stride(i), stride_at(along, i), i == axis ? 0 : stride_at(indexed, i)});
  }
  return nest;
}

}  // namespace rushlight
