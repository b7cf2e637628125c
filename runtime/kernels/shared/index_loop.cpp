#include "kernels/shared/index_loop.h"

namespace rushlight {

void index_at(const Tensor& tensor, int64_t offset, int64_t* index) {
  const Span<const DimOrderType> order = tensor.dim_order();
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t size = tensor.size(order[i]);
    index[order[i]] = offset % size;
    offset /= size;
  }
}

}  // namespace rushlight
