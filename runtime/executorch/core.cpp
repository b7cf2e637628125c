#include <algorithm>
#include <cstdio>
#include <cstring>

#include "executorch/runtime/core/data_loader.h"
#include "executorch/runtime/core/exec_aten/util/scalar_type_util.h"
#include "executorch/runtime/core/exec_aten/util/tensor_util.h"
#include "executorch/runtime/core/hierarchical_allocator.h"
#include "executorch/runtime/core/memory_allocator.h"
#include "executorch/runtime/core/named_data_map.h"
#include "executorch/runtime/core/tag.h"
#include "executorch/runtime/kernel/kernel_runtime_context.h"

namespace executorch {
namespace runtime {

void* MemoryAllocator::allocate(size_t size, size_t alignment) {
  if (!isPowerOf2(alignment)) {
    ET_LOG(Error, "the alignment %zu is not a power of 2", alignment);
    return nullptr;
  }
  void* memory = bump(size, alignment);
  if (!memory) {
    ET_LOG(Error, "an allocator has less than %zu free bytes: %zu of its %zu bytes are in use", size,
           static_cast<size_t>(current_ - base_), static_cast<size_t>(end_ - base_));
  }
  return memory;
}

HierarchicalAllocator::HierarchicalAllocator(uint32_t n_allocators, MemoryAllocator* allocators)
    : native_(Span<Span<uint8_t>>(spans_, n_allocators)) {
  ET_CHECK_MSG(n_allocators <= kMaxAllocators, "%u allocators are given; the maximum is %zu", n_allocators,
               kMaxAllocators);
  for (uint32_t i = 0; i < n_allocators; ++i) {
    spans_[i] = Span<uint8_t>(allocators[i].base_address(), size_t{allocators[i].size()});
  }
}

Result<void*> KernelRuntimeContext::allocate_temp(size_t size, size_t alignment) {
  const Error before = native_->failure();
  void* memory = native_->allocate_temporary(size, alignment);
  if (memory) return memory;
  const bool has_allocator = native_->allocate_temporary(0, 1) != nullptr;
  native_->fail(before);  // the kernel decides how to handle the failed allocation
  return internal::log_error(has_allocator ? Error::MemoryAllocationFailed : Error::NotFound);
}

Error DataLoader::check_range(size_t offset, size_t count) const {
  RL_ASSIGN(const size_t total, size());
  ET_CHECK_OR_RETURN_ERROR(offset <= total && count <= total - offset, InvalidArgument,
                           "%zu bytes at offset %zu are not in the file, which has %zu bytes", count, offset, total);
  return Error::Ok;
}

Error DataLoader::load_into(size_t offset, size_t size, const SegmentInfo& segment_info, void* buffer) const {
  RL_ASSIGN(FreeableBuffer data, load(offset, size, segment_info));
  std::memcpy(buffer, data.data(), size);
  return Error::Ok;
}

namespace {

DataLoader::SegmentInfo segment_of(::rushlight::SegmentKind kind) {
  return DataLoader::SegmentInfo(static_cast<DataLoader::SegmentInfo::Type>(kind));
}

}  // namespace

Result<FreeableBuffer> DataLoader::Bridge::load(size_t offset, size_t size, ::rushlight::SegmentKind kind) {
  return owner_.load(offset, size, segment_of(kind));
}

Error DataLoader::Bridge::load_into(size_t offset, size_t size, ::rushlight::SegmentKind kind, void* buffer) {
  return owner_.load_into(offset, size, segment_of(kind), buffer);
}

Result<const TensorLayout> TensorLayout::create(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
                                                aten::ScalarType scalar_type) {
  const int64_t numel = ::rushlight::checked_numel(sizes);
  const size_t item = ::rushlight::element_size(scalar_type);
  if (numel < 0 || item == 0 || sizes.size() != dim_order.size()) return Error::InvalidArgument;
  if (!validate_dim_order(dim_order.data(), dim_order.size())) return Error::InvalidArgument;
  if (static_cast<uint64_t>(numel) > SIZE_MAX / item) return Error::InvalidArgument;
  return TensorLayout(::rushlight::TensorLayout{scalar_type, sizes, dim_order, static_cast<size_t>(numel) * item});
}

Result<::rushlight::TensorLayout> NamedDataMap::Bridge::tensor_layout(std::string_view key) const {
  auto layout = owner_.get_tensor_layout(key);
  if (!layout.ok()) return layout.error();
  return ::rushlight::TensorLayout{layout->scalar_type(), layout->sizes(), layout->dim_order(), layout->nbytes()};
}

uint32_t NamedDataMap::Bridge::size() const {
  auto count = owner_.get_num_keys();
  return count.ok() ? *count : 0;
}

const char* NamedDataMap::Bridge::key(uint32_t index) const {
  auto name = owner_.get_key(index);
  return name.ok() ? *name : "";
}

Result<const TensorLayout> internal::NativeDataMap::get_tensor_layout(std::string_view key) const {
  auto layout = map_->tensor_layout(key);
  if (!layout.ok()) return layout.error();
  return TensorLayout(*layout);
}

Result<const char*> internal::NativeDataMap::get_key(uint32_t index) const {
  if (index >= map_->size()) return Error::InvalidArgument;
  return map_->key(index);
}

size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size) {
  if (buffer_size == 0) return 0;
  const char* name = tag_to_string(tag);
  const size_t length = std::min(std::strlen(name), buffer_size - 1);
  std::memcpy(buffer, name, length);
  buffer[length] = '\0';
  return length;
}

aten::ScalarType promoteTypes(aten::ScalarType a, aten::ScalarType b, bool half_to_float) {
  using aten::ScalarType;
  const auto is_number = [](ScalarType type) { return isRealHBBF16Type(type) || isComplexType(type); };
  ET_CHECK_MSG(is_number(a) && is_number(b), "%s and %s have no common dtype", toString(a), toString(b));
  // The dtypes in promotion order. The common dtype of float16 and bfloat16 is float32.
  const auto rank = [](ScalarType type) {
    constexpr ScalarType kOrder[] = {ScalarType::Bool,         ScalarType::Byte,        ScalarType::Char,
                                     ScalarType::Short,        ScalarType::Int,         ScalarType::Long,
                                     ScalarType::Half,         ScalarType::BFloat16,    ScalarType::Float,
                                     ScalarType::Double,       ScalarType::ComplexHalf, ScalarType::ComplexFloat,
                                     ScalarType::ComplexDouble};
    return std::find(std::begin(kOrder), std::end(kOrder), type) - std::begin(kOrder);
  };
  const ScalarType low = rank(a) < rank(b) ? a : b;
  const ScalarType high = rank(a) < rank(b) ? b : a;
  ScalarType common = high;
  if (low == ScalarType::Byte && high == ScalarType::Char) common = ScalarType::Short;
  if (low == ScalarType::Half && high == ScalarType::BFloat16) common = ScalarType::Float;
  if (high == ScalarType::ComplexHalf && (low == ScalarType::Float || low == ScalarType::BFloat16)) {
    common = ScalarType::ComplexFloat;
  }
  if (isComplexType(high) && low == ScalarType::Double) common = ScalarType::ComplexDouble;
  if (half_to_float && (common == ScalarType::Half || common == ScalarType::BFloat16)) common = ScalarType::Float;
  return common;
}

std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const aten::SizesType> shape) {
  std::array<char, kTensorShapeStringSizeLimit> text{};
  if (shape.size() > kTensorDimensionLimit) {
    std::snprintf(text.data(), text.size(), "(%zu dimensions)", shape.size());
    return text;
  }
  size_t length = 0;
  text[length++] = '(';
  for (size_t i = 0; i < shape.size(); ++i) {
    length += static_cast<size_t>(
        std::snprintf(text.data() + length, text.size() - length, "%s%d", i ? ", " : "", static_cast<int>(shape[i])));
  }
  text[length] = ')';
  return text;
}

namespace etensor {

TensorImpl::TensorImpl(ScalarType type, ssize_t dimensions, SizesType* shape, void* memory, DimOrderType* order,
                       StridesType* steps, TensorShapeDynamism changes, DeviceType device_type, DeviceIndex) {
  ET_CHECK_MSG(dimensions >= 0 && dimensions <= ::rushlight::kMaxDim, "a tensor has %zd dimensions; the maximum is %d",
               dimensions, ::rushlight::kMaxDim);
  ET_CHECK_MSG(::rushlight::element_size(type) != 0, "a tensor cannot have elements of dtype %d",
               static_cast<int>(type));
  ET_CHECK_MSG(device_type == DeviceType::CPU, "the elements of a tensor must be in the memory of the CPU");
  const auto rank = static_cast<size_t>(dimensions);
  for (size_t i = 0; i < rank; ++i) own_dim_order_[i] = static_cast<DimOrderType>(i);
  ::rushlight::TensorImpl& impl = *this;
  impl.dtype = type;
  impl.dim = static_cast<uint8_t>(dimensions);
  impl.sizes = shape;
  impl.data = memory;
  impl.dim_order = order ? order : own_dim_order_;
  impl.strides = steps ? steps : own_strides_;
  impl.dynamism = changes;
  const int64_t count = ::rushlight::checked_numel({shape, rank});
  ET_CHECK_MSG(count >= 0, "a tensor has a negative size or too many elements");
  impl.numel = count;
  impl.capacity = static_cast<size_t>(count) * ::rushlight::element_size(type);
  if (!steps) ::rushlight::strides_from_dim_order({shape, rank}, impl.dim_order, own_strides_);
}

TensorImpl::TensorImpl(const TensorImpl& other) : ::rushlight::TensorImpl(other) {
  std::copy(std::begin(other.own_dim_order_), std::end(other.own_dim_order_), own_dim_order_);
  std::copy(std::begin(other.own_strides_), std::end(other.own_strides_), own_strides_);
  ::rushlight::TensorImpl& impl = *this;
  const ::rushlight::TensorImpl& from = other;
  if (from.dim_order == other.own_dim_order_) impl.dim_order = own_dim_order_;
  if (from.strides == other.own_strides_) impl.strides = own_strides_;
}

ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  auto numel = safe_numel(sizes, dim);
  ET_CHECK_MSG(numel.ok(), "a tensor has a negative size or too many elements");
  return *numel;
}

Result<ssize_t> safe_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  if (dim < 0 || (dim > 0 && !sizes)) return Error::InvalidArgument;
  const int64_t numel = ::rushlight::checked_numel({sizes, static_cast<size_t>(dim)});
  if (numel < 0) return Error::InvalidArgument;
  return static_cast<ssize_t>(numel);
}

}  // namespace etensor

Error share_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src) {
  ET_CHECK_OR_RETURN_ERROR(t_dst.nbytes() == t_src.nbytes(), InvalidArgument,
                           "the tensors have different sizes: %zu and %zu bytes", t_dst.nbytes(), t_src.nbytes());
  ET_CHECK_OR_RETURN_ERROR(t_src.const_data_ptr() || t_src.nbytes() == 0, InvalidArgument, "a tensor has no memory");
  return set_tensor_data(t_dst, t_src.mutable_data_ptr(), t_src.nbytes());
}

Error copy_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src) {
  ET_CHECK_OR_RETURN_ERROR(t_dst.nbytes() == t_src.nbytes(), InvalidArgument,
                           "the tensors have different sizes: %zu and %zu bytes", t_dst.nbytes(), t_src.nbytes());
  ET_CHECK_OR_RETURN_ERROR(t_dst.const_data_ptr() || t_dst.nbytes() == 0, InvalidArgument, "a tensor has no memory");
  if (t_src.nbytes() == 0 || !t_src.const_data_ptr()) return Error::Ok;
  std::memmove(t_dst.mutable_data_ptr(), t_src.const_data_ptr(), t_src.nbytes());
  return Error::Ok;
}

Error set_tensor_data(const aten::Tensor& t, void* buffer, size_t buffer_size) {
  ET_CHECK_OR_RETURN_ERROR(buffer_size >= t.nbytes(), InvalidArgument, "a tensor needs %zu bytes, but %zu are given",
                           t.nbytes(), buffer_size);
  t.impl()->data = buffer;
  t.impl()->capacity = buffer_size;
  return Error::Ok;
}

void reset_data_ptr(const aten::Tensor& tensor) { tensor.impl()->data = nullptr; }

Error get_dim_order(const aten::Tensor& tensor, aten::DimOrderType* out_dim_order, size_t out_dim_order_size) {
  if (out_dim_order_size != static_cast<size_t>(tensor.dim())) return Error::InvalidArgument;
  std::copy(tensor.dim_order().begin(), tensor.dim_order().end(), out_dim_order);
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch
