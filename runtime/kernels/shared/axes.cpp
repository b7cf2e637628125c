#include "kernels/shared/axes.h"

namespace rushlight {

bool axis_mask(KernelRuntimeContext& context, Span<const int64_t> dims, int64_t rank, uint32_t* mask) {
  *mask = 0;
  for (const int64_t dim : dims) {
    int64_t axis;
    if (!normalize_dim(context, dim, rank, &axis)) return false;
    if (*mask >> axis & 1u) {
      context.fail(Error::InvalidArgument, "dim %lld is named twice", static_cast<long long>(dim));
      return false;
    }
    *mask |= 1u << axis;
  }
  return true;
}

bool require_same_dtype(KernelRuntimeContext& context, const Tensor& a, const Tensor& b) {
  if (a.scalar_type() == b.scalar_type()) return true;
  context.fail(Error::InvalidArgument, "the dtypes %s and %s must be equal", dtype_name(a.scalar_type()),
               dtype_name(b.scalar_type()));
  return false;
}

bool require_shape(KernelRuntimeContext& context, const char* name, const Tensor& tensor, const Shape& shape) {
  bool equal = tensor.dim() == shape.dim;
  for (int64_t i = 0; equal && i < tensor.dim(); ++i) equal = tensor.size(i) == shape.sizes[i];
  if (!equal) context.fail(Error::InvalidArgument, "the shape of %s does not match the other arguments", name);
  return equal;
}

bool require_dim_order(KernelRuntimeContext& context, std::optional<Span<const int64_t>> dim_order, const Tensor& out) {
  if (!dim_order) return true;
  bool equal = dim_order->size() == out.dim_order().size();
  for (size_t i = 0; equal && i < dim_order->size(); ++i) equal = (*dim_order)[i] == out.dim_order()[i];
  if (!equal) context.fail(Error::InvalidArgument, "the dim order of out differs from the requested dim order");
  return equal;
}

bool is_row_major(const Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  const TensorImpl& t = *tensor.impl();
  uint32_t expected = 1;
  for (int axis = t.dim; axis-- > 0;) {
    if (t.sizes[axis] != 1 && static_cast<uint32_t>(t.strides[axis]) != expected) return false;
    expected *= static_cast<uint32_t>(t.sizes[axis]);
  }
  return true;
}

bool same_layout(const Tensor& a, const Tensor& b) {
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  if (x.dim != y.dim) return false;
  bool same_strides = true;
  for (int axis = x.dim; axis-- > 0;) {
    const SizesType size = x.sizes[axis];
    if (size != y.sizes[axis]) return false;
    if (size != 1 && x.strides[axis] != y.strides[axis]) same_strides = false;
  }
  return same_strides || x.numel == 0;
}

}  // namespace rushlight
