#include "rushlight/module/tensor_ptr.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

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

std::vector<DimOrderType> contiguous(size_t dim) {
  std::vector<DimOrderType> order(std::min<size_t>(dim, kMaxDim + 1));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<DimOrderType>(i);
  return order;
}

// Sets `dim_order` to the dimensions in the order of decreasing strides; equal strides keep their order.
Error order_from_strides(const std::vector<SizesType>& sizes, const std::vector<StridesType>& strides,
                         std::vector<DimOrderType>* dim_order) {
  RL_REQUIRE(strides.size() == sizes.size(), InvalidArgument, "a tensor of %zu dimensions has %zu strides",
             sizes.size(), strides.size());
  if (dim_order->empty()) {
    *dim_order = contiguous(sizes.size());
    std::sort(dim_order->begin(), dim_order->end(), [&](DimOrderType a, DimOrderType b) {
      return strides[a] != strides[b] ? strides[a] > strides[b] : a < b;
    });
  }
  std::vector<StridesType> dense(sizes.size());
  if (dim_order->size() == sizes.size()) strides_from_dim_order(sizes, dim_order->data(), dense.data());
  for (size_t i = 0; i < sizes.size(); ++i) {
    RL_REQUIRE(sizes[i] <= 1 || strides[i] == dense[i], InvalidArgument,
               "dimension %zu has the stride %d, but a dense tensor of this dim order has the stride %d", i,
               static_cast<int>(strides[i]), static_cast<int>(dense[i]));
  }
  return Error::Ok;
}

// Completes a dim order. Returns Ok if the bytes of a dense tensor of this shape fit into the address space.
Error check_shape(const std::vector<SizesType>& sizes, const std::vector<StridesType>& strides, ScalarType dtype,
                  std::vector<DimOrderType>* dim_order) {
  RL_REQUIRE(sizes.size() <= kMaxDim, InvalidArgument, "a tensor has %zu dimensions; the maximum is %d", sizes.size(),
             kMaxDim);
  RL_REQUIRE(element_size(dtype) != 0, InvalidArgument, "a tensor cannot have elements of dtype %s", dtype_name(dtype));
  const int64_t numel = checked_numel(sizes);
  RL_REQUIRE(numel >= 0 && numel <= INT64_MAX / static_cast<int64_t>(element_size(dtype)), InvalidArgument,
             "a tensor has a negative size or too many elements");
  if (dim_order->empty() && strides.empty()) *dim_order = contiguous(sizes.size());
  std::vector<DimOrderType> sorted = *dim_order;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = dim_order->size() == sizes.size() || dim_order->empty();
  for (size_t i = 0; is_order && i < sorted.size(); ++i) is_order = sorted[i] == i;
  RL_REQUIRE(is_order, InvalidArgument, "a dim order must contain each of the %zu dimensions once", sizes.size());
  return strides.empty() ? Error::Ok : order_from_strides(sizes, strides, dim_order);
}

TensorPtr make(std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
               const std::vector<StridesType>& strides, ScalarType dtype, void* data, std::shared_ptr<void> owner,
               ShapeDynamism dynamism) {
  if (check_shape(sizes, strides, dtype, &dim_order) != Error::Ok) return nullptr;
  auto holder = std::make_shared<Holder>();
  Holder& h = *holder;
  h.sizes = std::move(sizes);
  h.dim_order = std::move(dim_order);
  h.strides.resize(h.sizes.size());
  h.owner = std::move(owner);
  strides_from_dim_order(h.sizes, h.dim_order.data(), h.strides.data());
  h.impl.data = data;
  h.impl.sizes = h.sizes.data();
  h.impl.strides = h.strides.data();
  h.impl.dim_order = h.dim_order.data();
  h.impl.numel = checked_numel(h.sizes);
  h.impl.dtype = dtype;
  h.impl.dynamism = dynamism;
  h.impl.dim = static_cast<uint8_t>(h.sizes.size());
  h.impl.capacity = h.tensor.nbytes();
  return TensorPtr(holder, &h.tensor);
}

TensorPtr make_own(std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
                   const std::vector<StridesType>& strides, ScalarType dtype, ShapeDynamism dynamism) {
  if (check_shape(sizes, strides, dtype, &dim_order) != Error::Ok) return nullptr;
  const size_t nbytes = static_cast<size_t>(checked_numel(sizes)) * element_size(dtype);
  std::shared_ptr<void> memory(platform::allocate(nbytes, kAlignment), platform::release);
  if (memory == nullptr) {
    (void)fail(Error::MemoryAllocationFailed, "no memory for a tensor of %zu bytes", nbytes);
    return nullptr;
  }
  void* data = memory.get();
  return make(std::move(sizes), std::move(dim_order), {}, dtype, data, std::move(memory), dynamism);
}

// Calls body(pointer) with a null pointer to the C++ type of a dtype. Returns false if the dtype has no C++ type.
template <typename Body>
bool with_type(ScalarType type, const Body& body) {
  switch (type) {
#define RL_CASE(cpp_type, name)            \
  case ScalarType::name:                   \
    body(static_cast<cpp_type*>(nullptr)); \
    return true;
    RL_CASE(uint8_t, Byte)
    RL_CASE(int8_t, Char)
    RL_CASE(int16_t, Short)
    RL_CASE(int32_t, Int)
    RL_CASE(int64_t, Long)
    RL_CASE(Half, Half)
    RL_CASE(float, Float)
    RL_CASE(double, Double)
    RL_CASE(bool, Bool)
    RL_CASE(BFloat16, BFloat16)
    RL_CASE(uint16_t, UInt16)
    RL_CASE(uint32_t, UInt32)
    RL_CASE(uint64_t, UInt64)
#undef RL_CASE
    default:
      return false;
  }
}

// Converts a number to an element type by the rules of ATen.
template <typename T, typename From>
T convert(From value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != From(0);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Sets each element to next(), converted to the dtype.
TensorPtr fill_each(TensorPtr tensor, const std::function<double()>& next) {
  if (!tensor) return nullptr;
  const bool is_known = with_type(tensor->scalar_type(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t i = 0; i < tensor->numel(); ++i) tensor->mutable_data_ptr<T>()[i] = convert<T>(next());
  });
  if (is_known) return tensor;
  (void)fail(Error::NotSupported, "a tensor of dtype %s cannot be filled with numbers",
             dtype_name(tensor->scalar_type()));
  return nullptr;
}

// Returns the random number generator of this thread. Its seed is random.
std::mt19937_64& generator() {
#if defined(RUSHLIGHT_SINGLE_THREAD)
  static std::mt19937_64 engine(platform::now_ns());
#else
  thread_local std::mt19937_64 engine(std::random_device{}() ^ platform::now_ns());
#endif
  return engine;
}

// Whether elements of dtype `from` can be converted to dtype `to`.
bool can_convert(ScalarType from, ScalarType to) {
  if (from == to) return true;
  if (is_floating(from) && (is_integral(to) || to == ScalarType::Bool)) return false;
  return to != ScalarType::Bool && !is_complex(from) && !is_complex(to);
}

// Sets all elements to a scalar. Returns false if a scalar cannot be converted to the dtype.
bool fill(const Tensor& tensor, const Scalar& value) {
  return with_type(tensor.scalar_type(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T item = value.is_double() ? convert<T>(value.to<double>()) : convert<T>(value.to<int64_t>());
    std::fill_n(tensor.mutable_data_ptr<T>(), tensor.numel(), item);
  });
}

}  // namespace

// NOLINTBEGIN(performance-unnecessary-value-param): the signatures are ExecuTorch's
TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, void* data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, ScalarType type, Device device, ShapeDynamism dynamism,
                          std::function<void(void*)> deleter) {
  std::shared_ptr<void> owner;
  if (deleter) owner = std::shared_ptr<void>(data, std::move(deleter));
  if (!device.is_cpu()) {
    (void)fail(Error::NotSupported, "the elements of a tensor must be in the memory of the CPU");
    return nullptr;
  }
  return make(std::move(sizes), std::move(dim_order), strides, type, data, std::move(owner), dynamism);
}

TensorPtr detail::make_converted(std::vector<SizesType> sizes, void* data, size_t count, std::shared_ptr<void> owner,
                                 std::vector<DimOrderType> dim_order, std::vector<StridesType> strides, ScalarType from,
                                 ScalarType type, ShapeDynamism dynamism) {
  TensorPtr tensor = make(std::move(sizes), std::move(dim_order), strides, from, data, std::move(owner), dynamism);
  if (tensor && static_cast<size_t>(tensor->numel()) != count) {
    (void)fail(Error::InvalidArgument, "%zu elements are given for a tensor of %lld elements", count,
               static_cast<long long>(tensor->numel()));
    return nullptr;
  }
  if (!tensor || type == from) return tensor;
  TensorPtr converted = clone_tensor_ptr(*tensor, type);
  if (converted) converted->impl()->dynamism = dynamism;
  return converted;
}

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<uint8_t> data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, ScalarType type, ShapeDynamism dynamism) {
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(data));
  TensorPtr tensor = make(std::move(sizes), std::move(dim_order), strides, type, owner->data(), owner, dynamism);
  if (tensor && tensor->nbytes() != owner->size()) {
    (void)fail(Error::InvalidArgument, "%zu bytes are given for a tensor of %zu bytes", owner->size(),
               tensor->nbytes());
    return nullptr;
  }
  return tensor;
}

TensorPtr make_tensor_ptr(const Tensor& tensor, std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, std::function<void(void*)> deleter) {
  if (sizes.empty()) sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  const int64_t numel = checked_numel(sizes);
  if (numel > tensor.numel()) {
    (void)fail(Error::InvalidArgument, "a view of %lld elements does not fit into a tensor of %lld elements",
               static_cast<long long>(numel), static_cast<long long>(tensor.numel()));
    return nullptr;
  }
  if (dim_order.empty() && strides.empty() && sizes.size() == static_cast<size_t>(tensor.dim())) {
    dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
  }
  return make_tensor_ptr(std::move(sizes), tensor.mutable_data_ptr(), std::move(dim_order), std::move(strides),
                         tensor.scalar_type(), DeviceType::CPU, tensor.shape_dynamism(), std::move(deleter));
}

TensorPtr make_tensor_ptr(const TensorPtr& tensor, std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides) {
  return make_tensor_ptr(*tensor, std::move(sizes), std::move(dim_order), std::move(strides), [tensor](void*) {});
}

TensorPtrMaker for_blob(void* data, std::vector<SizesType> sizes, ScalarType type) {
  return TensorPtrMaker(data, std::move(sizes), type);
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType type, Device device, ShapeDynamism dynamism) {
  return make_tensor_ptr(std::move(sizes), data, {}, {}, type, device, dynamism);
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                    Device device, ShapeDynamism dynamism) {
  return make_tensor_ptr(std::move(sizes), data, {}, std::move(strides), type, device, dynamism);
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType type, std::function<void(void*)>&& deleter,
                    ShapeDynamism dynamism) {
  return make_tensor_ptr(std::move(sizes), data, {}, {}, type, DeviceType::CPU, dynamism, std::move(deleter));
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, ScalarType type, Device device,
                    std::function<void(void*)>&& deleter, ShapeDynamism dynamism) {
  return make_tensor_ptr(std::move(sizes), data, {}, {}, type, device, dynamism, std::move(deleter));
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                    std::function<void(void*)>&& deleter, ShapeDynamism dynamism) {
  return make_tensor_ptr(std::move(sizes), data, {}, std::move(strides), type, DeviceType::CPU, dynamism,
                         std::move(deleter));
}

TensorPtr from_blob(void* data, std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                    Device device, std::function<void(void*)>&& deleter, ShapeDynamism dynamism) {
  return make_tensor_ptr(std::move(sizes), data, {}, std::move(strides), type, device, dynamism, std::move(deleter));
}

TensorPtr empty_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                        ShapeDynamism dynamism) {
  return make_own(std::move(sizes), {}, strides, type, dynamism);
}

TensorPtr full_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, const Scalar& fill_value,
                       ScalarType type, ShapeDynamism dynamism) {
  TensorPtr tensor = empty_strided(std::move(sizes), std::move(strides), type, dynamism);
  if (tensor && !fill(*tensor, fill_value)) {
    (void)fail(Error::NotSupported, "a tensor of dtype %s cannot be filled with a number", dtype_name(type));
    return nullptr;
  }
  return tensor;
}

TensorPtr rand_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                       ShapeDynamism dynamism) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  // The dtype represents all multiples of 1 / steps below 1 exactly, so no number is rounded up to 1.
  const double steps = type == ScalarType::BFloat16 ? 0x1p8 : type == ScalarType::Half ? 0x1p11 : 0x1p24;
  return fill_each(empty_strided(std::move(sizes), std::move(strides), type, dynamism), [&] {
    const double number = uniform(generator());
    return type == ScalarType::Double ? number : std::floor(number * steps) / steps;
  });
}

TensorPtr randn_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                        ShapeDynamism dynamism) {
  std::normal_distribution<double> normal(0.0, 1.0);
  return fill_each(empty_strided(std::move(sizes), std::move(strides), type, dynamism),
                   [&] { return normal(generator()); });
}

TensorPtr randint_strided(int64_t low, int64_t high, std::vector<SizesType> sizes, std::vector<StridesType> strides,
                          ScalarType type, ShapeDynamism dynamism) {
  if (low >= high) {
    (void)fail(Error::InvalidArgument, "the range of randint() is empty: low is %lld and high is %lld",
               static_cast<long long>(low), static_cast<long long>(high));
    return nullptr;
  }
  std::uniform_int_distribution<int64_t> uniform(low, high - 1);
  return fill_each(empty_strided(std::move(sizes), std::move(strides), type, dynamism),
                   [&] { return static_cast<double>(uniform(generator())); });
}

TensorPtr clone_tensor_ptr(const Tensor& tensor, ScalarType type) {
  const auto sizes = tensor.sizes();
  const auto order = tensor.dim_order();
  if (!can_convert(tensor.scalar_type(), type)) {
    (void)fail(Error::InvalidArgument, "elements of %s cannot be converted to %s", dtype_name(tensor.scalar_type()),
               dtype_name(type));
    return nullptr;
  }
  TensorPtr copy =
      make_own({sizes.begin(), sizes.end()}, {order.begin(), order.end()}, {}, type, ShapeDynamism::DYNAMIC_BOUND);
  if (!copy || copy->numel() == 0 || !tensor.const_data_ptr()) return copy;
  if (type == tensor.scalar_type()) {
    std::memcpy(copy->mutable_data_ptr(), tensor.const_data_ptr(), copy->nbytes());
    return copy;
  }
  bool is_known = false;
  with_type(tensor.scalar_type(), [&](auto* source) {
    using From = std::remove_pointer_t<decltype(source)>;
    is_known = with_type(type, [&](auto* target) {
      using To = std::remove_pointer_t<decltype(target)>;
      const From* from = tensor.const_data_ptr<From>();
      for (int64_t i = 0; i < tensor.numel(); ++i) copy->mutable_data_ptr<To>()[i] = convert<To>(from[i]);
    });
  });
  if (is_known) return copy;
  (void)fail(Error::NotSupported, "elements of %s cannot be converted to %s", dtype_name(tensor.scalar_type()),
             dtype_name(type));
  return nullptr;
}

Error resize_tensor_ptr(TensorPtr& tensor, const std::vector<SizesType>& sizes) {
  return resize_tensor(*tensor, sizes);
}

// NOLINTEND(performance-unnecessary-value-param)

}  // namespace rushlight
