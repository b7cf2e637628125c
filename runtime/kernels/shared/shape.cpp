#include "kernels/shared/shape.h"

#include "kernels/shared/promotion.h"

namespace rushlight {

bool resize_out(KernelRuntimeContext& context, const Tensor& out, Span<const SizesType> sizes) {
  const Error error = resize_tensor(out, sizes);
  if (error != Error::Ok) context.fail(error);
  return error == Error::Ok;
}

bool resize_out(KernelRuntimeContext& context, const Tensor& out, std::initializer_list<int64_t> sizes) {
  Shape shape;
  for (const int64_t size : sizes) shape.push(size);
  return resize_out(context, out, shape.span());
}

bool resize_out_like(KernelRuntimeContext& context, const Tensor& out, const Tensor& like) {
  return out.impl() == like.impl() || resize_out(context, out, like.sizes());
}

bool broadcast_shape(KernelRuntimeContext& context, Shape& shape, Span<const SizesType> sizes) {
  const int rank = static_cast<int>(sizes.size());
  if (rank > shape.dim) {
    for (int i = rank; i-- > 0;) {
      const int from = i - (rank - shape.dim);
      shape.sizes[i] = from >= 0 ? shape.sizes[from] : 1;
    }
    shape.dim = rank;
  }
  for (int i = 0; i < rank; ++i) {
    SizesType& size = shape.sizes[shape.dim - rank + i];
    const SizesType other = sizes[static_cast<size_t>(i)];
    if (size == other || other == 1) continue;
    if (size != 1) {
      context.fail(Error::InvalidArgument, "sizes %d and %d of dim %d do not broadcast", static_cast<int>(size),
                   static_cast<int>(other), i - rank);
      return false;
    }
    size = other;
  }
  return true;
}

bool require_cast(KernelRuntimeContext& context, ScalarType from, const Tensor& out) {
  if (can_cast(from, out.scalar_type())) return true;
  context.fail(Error::InvalidType, "a result of %s cannot be written into a tensor of %s", dtype_name(from),
               dtype_name(out.scalar_type()));
  return false;
}

bool normalize_dim(KernelRuntimeContext& context, int64_t axis, int64_t rank, int64_t* result) {
  const int64_t range = rank > 0 ? rank : 1;
  if (axis < -range || axis >= range) {
    context.fail(Error::InvalidArgument, "dim %lld is out of range for a tensor of rank %lld",
                 static_cast<long long>(axis), static_cast<long long>(rank));
    return false;
  }
  *result = axis < 0 ? axis + range : axis;
  return true;
}

}  // namespace rushlight
