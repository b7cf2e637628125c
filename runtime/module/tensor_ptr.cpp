#include "rushlight/module/tensor_ptr.h"

#include <algorithm>
#include <cstring>

#include "rushlight/core/half.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

constexpr size_t kAlignment = 64;

// A tensor with its shape and the owner of its elements.
struct Holder {
  std::vector<SizesType> sizes;
  std::vector<DimOrderType> dim_order;
  std::vector<StridesType> strides;
  std::shared_ptr<void> owner;  // the owner of the elements, or null if the caller owns them
  TensorImpl impl;
  Tensor tensor{&impl};
};

// Returns Ok if the bytes of a dense tensor of this shape fit the address range.
Error check_shape(const std::vector<SizesType>& sizes, const std::vector<DimOrderType>& dim_order, ScalarType dtype) {
  RL_REQUIRE(sizes.size() <= kMaxDim, InvalidArgument, "a tensor has %zu dimensions; the most are %d", sizes.size(),
             kMaxDim);
  RL_REQUIRE(element_size(dtype) != 0, InvalidArgument, "a tensor cannot hold elements of %s", dtype_name(dtype));
  const int64_t numel = checked_numel({sizes.data(), sizes.size()});
  RL_REQUIRE(numel >= 0 && numel <= INT64_MAX / static_cast<int64_t>(element_size(dtype)), InvalidArgument,
             "a tensor has a negative size, or more elements than can be counted");
  std::vector<DimOrderType> sorted = dim_order;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = dim_order.size() == sizes.size();
  for (size_t i = 0; is_order && i < sorted.size(); ++i) is_order = sorted[i] == i;
  RL_REQUIRE(is_order, InvalidArgument, "a dim order has to hold each of the %zu dimensions once", sizes.size());
  return Error::Ok;
}

std::vector<DimOrderType> contiguous(size_t dim) {
  std::vector<DimOrderType> order(std::min<size_t>(dim, kMaxDim + 1));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<DimOrderType>(i);
  return order;
}

TensorPtr make(std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order, ScalarType dtype, void* data,
               std::shared_ptr<void> owner) {
  if (check_shape(sizes, dim_order, dtype) != Error::Ok) return nullptr;
  auto holder = std::make_shared<Holder>();
  Holder& h = *holder;
  h.sizes = std::move(sizes);
  h.dim_order = std::move(dim_order);
  h.strides.resize(h.sizes.size());
  h.owner = std::move(owner);
  strides_from_dim_order({h.sizes.data(), h.sizes.size()}, h.dim_order.data(), h.strides.data());
  h.impl.data = data;
  h.impl.sizes = h.sizes.data();
  h.impl.strides = h.strides.data();
  h.impl.dim_order = h.dim_order.data();
  h.impl.numel = checked_numel({h.sizes.data(), h.sizes.size()});
  h.impl.dtype = dtype;
  h.impl.dim = static_cast<uint8_t>(h.sizes.size());
  h.impl.capacity = h.tensor.nbytes();
  return TensorPtr(holder, &h.tensor);
}

TensorPtr make_own(std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order, ScalarType dtype) {
  if (check_shape(sizes, dim_order, dtype) != Error::Ok) return nullptr;
  const auto numel = static_cast<size_t>(checked_numel({sizes.data(), sizes.size()}));
  std::shared_ptr<void> memory(platform::allocate(numel * element_size(dtype), kAlignment), platform::release);
  if (memory == nullptr) {
    (void)fail(Error::MemoryAllocationFailed, "no memory for a tensor of %zu bytes", numel * element_size(dtype));
    return nullptr;
  }
  void* data = memory.get();
  return make(std::move(sizes), std::move(dim_order), dtype, data, std::move(memory));
}

template <typename T>
void fill_as(const Tensor& tensor, const Scalar& value) {
  T item;
  if constexpr (std::is_same_v<T, bool>) {
    item = value.is_double() ? value.to<double>() != 0 : value.to<int64_t>() != 0;
  } else if constexpr (std::is_integral_v<T>) {
    item = value.to<T>();
  } else {
    item = T(value.to<float>());
    if constexpr (std::is_same_v<T, double>) item = value.to<double>();
  }
  std::fill_n(tensor.mutable_data_ptr<T>(), tensor.numel(), item);
}

// Returns whether a scalar can be converted to the dtype.
bool fill(const Tensor& tensor, const Scalar& value) {
  switch (tensor.scalar_type()) {
    case ScalarType::Byte:
      return fill_as<uint8_t>(tensor, value), true;
    case ScalarType::Char:
      return fill_as<int8_t>(tensor, value), true;
    case ScalarType::Short:
      return fill_as<int16_t>(tensor, value), true;
    case ScalarType::Int:
      return fill_as<int32_t>(tensor, value), true;
    case ScalarType::Long:
      return fill_as<int64_t>(tensor, value), true;
    case ScalarType::Half:
      return fill_as<Half>(tensor, value), true;
    case ScalarType::Float:
      return fill_as<float>(tensor, value), true;
    case ScalarType::Double:
      return fill_as<double>(tensor, value), true;
    case ScalarType::Bool:
      return fill_as<bool>(tensor, value), true;
    case ScalarType::BFloat16:
      return fill_as<BFloat16>(tensor, value), true;
    case ScalarType::UInt16:
      return fill_as<uint16_t>(tensor, value), true;
    case ScalarType::UInt32:
      return fill_as<uint32_t>(tensor, value), true;
    case ScalarType::UInt64:
      return fill_as<uint64_t>(tensor, value), true;
    default:
      return false;
  }
}

}  // namespace

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType dtype) {
  std::vector<DimOrderType> dim_order = contiguous(sizes.size());
  return make(std::move(sizes), std::move(dim_order), dtype, data, nullptr);
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType dtype, std::function<void(void*)> deleter) {
  std::vector<DimOrderType> dim_order = contiguous(sizes.size());
  std::shared_ptr<void> owner(data, std::move(deleter));
  return make(std::move(sizes), std::move(dim_order), dtype, data, std::move(owner));
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order, ScalarType dtype) {
  return make(std::move(sizes), std::move(dim_order), dtype, data, nullptr);
}

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, ScalarType dtype, void* data, size_t count,
                          std::shared_ptr<void> owner) {
  std::vector<DimOrderType> dim_order = contiguous(sizes.size());
  TensorPtr tensor = make(std::move(sizes), std::move(dim_order), dtype, data, std::move(owner));
  if (tensor && static_cast<size_t>(tensor->numel()) != count) {
    (void)fail(Error::InvalidArgument, "%zu elements are given for a tensor of %lld", count,
               static_cast<long long>(tensor->numel()));
    return nullptr;
  }
  return tensor;
}

TensorPtr empty(std::vector<SizesType> sizes, ScalarType dtype) {
  std::vector<DimOrderType> dim_order = contiguous(sizes.size());
  return make_own(std::move(sizes), std::move(dim_order), dtype);
}

TensorPtr full(std::vector<SizesType> sizes, const Scalar& value, ScalarType dtype) {
  TensorPtr tensor = empty(std::move(sizes), dtype);
  if (tensor && !fill(*tensor, value)) {
    (void)fail(Error::NotSupported, "a tensor of %s cannot be filled with a number", dtype_name(dtype));
    return nullptr;
  }
  return tensor;
}

TensorPtr zeros(std::vector<SizesType> sizes, ScalarType dtype) { return full(std::move(sizes), 0, dtype); }

TensorPtr ones(std::vector<SizesType> sizes, ScalarType dtype) { return full(std::move(sizes), 1, dtype); }

TensorPtr clone_tensor_ptr(const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  const auto order = tensor.dim_order();
  TensorPtr copy = make_own({sizes.begin(), sizes.end()}, {order.begin(), order.end()}, tensor.scalar_type());
  if (copy && copy->nbytes() > 0) std::memcpy(copy->mutable_data_ptr(), tensor.const_data_ptr(), copy->nbytes());
  return copy;
}

}  // namespace rushlight
