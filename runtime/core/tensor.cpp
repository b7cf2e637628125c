#include "rushlight/core/tensor.h"

#include <cstring>

#include "rushlight/core/memory.h"

namespace rushlight {
namespace {

bool sizes_are(const TensorImpl& tensor, Span<const SizesType> sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (tensor.sizes[i] != sizes[i]) return false;
  }
  return true;
}

// Copies the tensor to a new block of at least `nbytes` bytes. If the allocation fails, the tensor is unchanged.
void grow(TensorImpl& impl, size_t nbytes) {
  constexpr size_t kAlignment = 16;
  const size_t doubled = impl.capacity > SIZE_MAX / 2 ? SIZE_MAX : impl.capacity * 2;
  const size_t capacity = nbytes > doubled ? nbytes : doubled;
  void* const data = impl.growth->allocate(capacity, kAlignment);
  if (!data) return;
  const size_t used = static_cast<size_t>(impl.numel) * element_size(impl.dtype);
  if (impl.data && used > 0) std::memcpy(data, impl.data, used);
  impl.data = data;
  impl.capacity = capacity;
}

}  // namespace

int64_t checked_numel(Span<const SizesType> sizes) {
  int64_t numel = 1;
  for (const SizesType size : sizes) {
    if (size < 0) return -1;
    if (size != 0 && numel > INT64_MAX / size) return -1;
    numel *= size;
  }
  return numel;
}

void strides_from_dim_order(Span<const SizesType> sizes, const DimOrderType* dim_order, StridesType* strides) {
  uint32_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    const DimOrderType axis = dim_order[i];
    strides[axis] = static_cast<StridesType>(stride);
    const SizesType size = sizes[axis];
    stride *= size > 0 ? static_cast<uint32_t>(size) : 1u;
  }
}

Error resize_tensor(const Tensor& tensor, Span<const SizesType> sizes) {
  TensorImpl& impl = *tensor.impl();
  RL_REQUIRE(sizes.size() == impl.dim, InvalidArgument, "a tensor of rank %d cannot have a shape of rank %zu", impl.dim,
             sizes.size());
  if (sizes_are(impl, sizes)) {
    RL_REQUIRE(impl.capacity > 0 || impl.numel == 0, InvalidArgument,
               "a result has no memory of its own: it is a constant, or a tensor whose memory is not set");
    return Error::Ok;
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (impl.dynamism == ShapeDynamism::STATIC) {
      RL_REQUIRE(sizes[i] == impl.sizes[i], InvalidArgument,
                 "dim %zu of a tensor of static shape has %d elements, not %d", i, static_cast<int>(impl.sizes[i]),
                 static_cast<int>(sizes[i]));
    } else if (impl.max_sizes) {
      RL_REQUIRE(sizes[i] <= impl.max_sizes[i], InvalidArgument,
                 "dim %zu of a tensor has at most %d elements, but %d are needed", i,
                 static_cast<int>(impl.max_sizes[i]), static_cast<int>(sizes[i]));
    }
  }
  const int64_t numel = checked_numel(sizes);
  RL_REQUIRE(numel >= 0, InvalidArgument, "the new shape of a tensor has a negative size or too many elements");
  const size_t item = element_size(impl.dtype);
  if (impl.growth && item != 0 && static_cast<uint64_t>(numel) <= SIZE_MAX / item) {
    const size_t nbytes = static_cast<size_t>(numel) * item;
    if (nbytes > impl.capacity) grow(impl, nbytes);
  }
  RL_REQUIRE(item != 0 && static_cast<uint64_t>(numel) <= impl.capacity / item, OutOfResources,
             "a tensor of %lld elements of %s does not fit into its %zu bytes", static_cast<long long>(numel),
             dtype_name(impl.dtype), impl.capacity);
  for (size_t i = 0; i < sizes.size(); ++i) impl.sizes[i] = sizes[i];
  impl.numel = numel;
  strides_from_dim_order(sizes, impl.dim_order, impl.strides);
  return Error::Ok;
}

bool is_contiguous_dim_order(Span<const DimOrderType> order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

bool is_channels_last_dim_order(Span<const DimOrderType> order) {
  if (order.size() != 4 && order.size() != 5) return false;
  if (order[0] != 0 || order.back() != 1) return false;
  for (size_t i = 1; i + 1 < order.size(); ++i) {
    if (order[i] != i + 1) return false;
  }
  return true;
}

bool same_shape(const Tensor& a, const Tensor& b) { return a.dim() == b.dim() && sizes_are(*a.impl(), b.sizes()); }

}  // namespace rushlight
