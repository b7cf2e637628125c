#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/exec_aten/util/dim_order_util.h"
#include "executorch/runtime/core/exec_aten/util/scalar_type_util.h"
#include "executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h"
#include "executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h"
#include "executorch/runtime/core/span.h"
#include "executorch/runtime/platform/assert.h"
#include "rushlight/core/tensor.h"

// Checks for kernels. ET_KERNEL_CHECK records an error in the context and returns from the kernel.
#define ET_KERNEL_CHECK(context, cond, error, retval)      \
  do {                                                     \
    if (!(cond)) {                                         \
      ET_LOG(Error, "Check failed: %s", #cond);            \
      (context).fail(::executorch::runtime::Error::error); \
      return retval;                                       \
    }                                                      \
  } while (false)
#define ET_KERNEL_CHECK_MSG(context, cond, error, retval, message, ...)   \
  do {                                                                    \
    if (!(cond)) {                                                        \
      ET_LOG(Error, "Check failed (%s): " message, #cond, ##__VA_ARGS__); \
      (context).fail(::executorch::runtime::Error::error);                \
      return retval;                                                      \
    }                                                                     \
  } while (false)

#define ET_LOG_AND_RETURN_IF_FALSE(cond) ET_CHECK_OR_RETURN_FALSE(cond, "")
#define ET_LOG_MSG_AND_RETURN_IF_FALSE ET_CHECK_OR_RETURN_FALSE
#define ET_MIN2(a, b) (std::min(a, b))
#define ET_MIN3(a, b, c) (std::min(a, std::min(b, c)))
#define ET_NORMALIZE_IX(IX, UPPER_BOUND) ((IX) < 0 ? (IX) + (UPPER_BOUND) : (IX))
#define ET_CHECK_VALID_IX(IX, UPPER_BOUND)                                                             \
  ET_CHECK_MSG((IX) >= -static_cast<int64_t>(UPPER_BOUND) && (IX) < static_cast<int64_t>(UPPER_BOUND), \
               "the index %" PRId64 " is not in the range of size %" PRId64, static_cast<int64_t>(IX), \
               static_cast<int64_t>(UPPER_BOUND))
#define ET_CHECK_VALID_DIM(DIM, UPPER_BOUND) ET_CHECK_VALID_IX(DIM, UPPER_BOUND)
#define ET_CHECK_NON_ZERO_DIM_SIZE(DIM, T) ET_CHECK_MSG((T).size(DIM) > 0, "a dimension has the size 0")
#define ET_CHECK_SAME_SHAPE2(a, b) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_shape(a, b), "the shapes differ")
#define ET_CHECK_SAME_SHAPE3(a, b, c) \
  ET_CHECK_MSG(::executorch::runtime::tensors_have_same_shape(a, b, c), "the shapes differ")
#define ET_CHECK_SAME_DTYPE2(a, b) ET_CHECK_MSG((a).scalar_type() == (b).scalar_type(), "the dtypes differ")
#define ET_CHECK_SAME_DTYPE3(a, b, c) \
  ET_CHECK_MSG((a).scalar_type() == (b).scalar_type() && (b).scalar_type() == (c).scalar_type(), "the dtypes differ")
#define ET_CHECK_SAME_SHAPE_AND_DTYPE2(a, b) \
  do {                                       \
    ET_CHECK_SAME_SHAPE2(a, b);              \
    ET_CHECK_SAME_DTYPE2(a, b);              \
  } while (0)
#define ET_CHECK_SAME_SHAPE_AND_DTYPE3(a, b, c) \
  do {                                          \
    ET_CHECK_SAME_SHAPE3(a, b, c);              \
    ET_CHECK_SAME_DTYPE3(a, b, c);              \
  } while (0)
#define ET_CHECK_CONTIGUOUS(a) \
  ET_CHECK_MSG(::executorch::runtime::tensor_is_contiguous(a), "a tensor is not contiguous")
#define ET_CHECK_SAME_STRIDES2(a, b) ET_CHECK_MSG((a).strides() == (b).strides(), "the strides differ")
#define ET_CHECK_SAME_STRIDES3(a, b, c) \
  ET_CHECK_MSG((a).strides() == (b).strides() && (b).strides() == (c).strides(), "the strides differ")
#define ET_CHECK_DEFAULT_OR_CHANNELSLAST_DIMORDER(t) \
  ET_CHECK_MSG(::executorch::runtime::tensor_is_default_or_channels_last_dim_order(t), "another dim order")
#define ET_EXTRACT_SCALAR_TENSOR(scalar_tensor, out_val)                                \
  ET_CHECK_MSG(::executorch::runtime::extract_scalar_tensor(scalar_tensor, &(out_val)), \
               "the tensor has no scalar value that fits into " #out_val)

namespace executorch {
namespace runtime {

inline bool dim_is_valid(int64_t dim, int64_t upper_bound) {
  ET_CHECK_OR_RETURN_FALSE(dim >= -upper_bound && dim < upper_bound,
                           "the dimension %" PRId64 " is not in the range of size %" PRId64, dim, upper_bound);
  return true;
}
// A zero-dim tensor counts as a one-dimensional tensor with one element.
inline ssize_t nonzero_dim(const aten::Tensor& tensor) { return tensor.dim() == 0 ? 1 : tensor.dim(); }
inline ssize_t nonempty_size(const aten::Tensor& tensor, ssize_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.size(dim);
}
inline bool tensor_can_cast_to(aten::Tensor a, aten::ScalarType dtype) { return canCast(a.scalar_type(), dtype); }
inline bool tensor_is_bool_type(aten::Tensor t) { return t.scalar_type() == aten::ScalarType::Bool; }
template <typename... Types>
bool tensor_is_type(aten::Tensor t, aten::ScalarType first, Types... others) {
  const bool is_one = ((t.scalar_type() == first) || ... || (t.scalar_type() == others));
  ET_CHECK_OR_RETURN_FALSE(is_one, "a tensor has the dtype %s", toString(t.scalar_type()));
  return true;
}
inline bool tensor_is_integral_type(aten::Tensor t, bool includeBool = false) {
  return isIntegralType(t.scalar_type(), includeBool);
}
inline bool tensor_is_floating_type(aten::Tensor t) { return isFloatingType(t.scalar_type()); }
inline bool tensor_is_real_type(aten::Tensor t) { return isRealType(t.scalar_type()); }
inline bool tensor_is_realh_type(aten::Tensor t) { return isRealHType(t.scalar_type()); }
inline bool tensor_is_realhbf16_type(aten::Tensor t) { return isRealHBF16Type(t.scalar_type()); }
inline bool tensor_is_realhb_type(aten::Tensor t) { return isRealHBType(t.scalar_type()); }
inline bool tensor_is_realhbbf16_type(aten::Tensor t) { return isRealHBBF16Type(t.scalar_type()); }
inline bool tensor_is_complex_type(aten::Tensor t) { return isComplexType(t.scalar_type()); }
inline bool tensor_is_bits_type(aten::Tensor t) { return isBitsType(t.scalar_type()); }
template <typename... Tensors>
bool tensors_have_same_dtype(const aten::Tensor& a, const Tensors&... others) {
  ET_CHECK_OR_RETURN_FALSE(((a.scalar_type() == others.scalar_type()) && ...), "the dtypes of tensors differ");
  return true;
}
inline bool tensor_is_rank(aten::Tensor t, size_t rank) {
  ET_CHECK_OR_RETURN_FALSE(static_cast<size_t>(t.dim()) == rank, "a tensor has %d dimensions, not %zu",
                           static_cast<int>(t.dim()), rank);
  return true;
}
inline bool tensor_has_rank_greater_or_equal_to(aten::Tensor t, size_t rank) {
  return static_cast<size_t>(t.dim()) >= rank;
}
inline bool tensor_has_rank_smaller_or_equal_to(aten::Tensor t, size_t rank) {
  return static_cast<size_t>(t.dim()) <= rank;
}
inline bool tensor_has_dim(aten::Tensor t, int64_t d) { return dim_is_valid(d, nonzero_dim(t)); }
inline bool tensor_has_non_empty_dim(aten::Tensor t, int64_t d) {
  return tensor_has_dim(t, d) && nonempty_size(t, d < 0 ? d + nonzero_dim(t) : d) > 0;
}
inline bool tensors_have_same_size_at_dims(aten::Tensor a, size_t dim_a, aten::Tensor b, size_t dim_b) {
  ET_CHECK_OR_RETURN_FALSE(dim_a < static_cast<size_t>(a.dim()) && dim_b < static_cast<size_t>(b.dim()),
                           "a tensor does not have the dimension %zu or %zu", dim_a, dim_b);
  ET_CHECK_OR_RETURN_FALSE(a.size(static_cast<int64_t>(dim_a)) == b.size(static_cast<int64_t>(dim_b)),
                           "the sizes of dimensions %zu and %zu differ", dim_a, dim_b);
  return true;
}
// Tensors with one element count as tensors of the same shape, also if their ranks differ.
inline bool tensors_have_same_shape(const aten::Tensor& a, const aten::Tensor& b) {
  if (a.numel() == 1 && b.numel() == 1) return true;
  ET_CHECK_OR_RETURN_FALSE(a.sizes() == b.sizes(), "the shapes %s and %s differ",
                           tensor_shape_to_c_string(a.sizes()).data(), tensor_shape_to_c_string(b.sizes()).data());
  return true;
}
inline bool tensors_have_same_shape(const aten::Tensor& a, const aten::Tensor& b, const aten::Tensor& c) {
  return tensors_have_same_shape(a, b) && tensors_have_same_shape(b, c);
}
template <typename... Tensors>
bool tensors_have_same_shape_and_dtype(const aten::Tensor& a, const Tensors&... others) {
  return tensors_have_same_shape(a, others...) && tensors_have_same_dtype(a, others...);
}
inline bool tensor_has_expected_size(aten::Tensor a, ArrayRef<aten::SizesType> expected) {
  ET_CHECK_OR_RETURN_FALSE(a.sizes() == expected, "a tensor has the shape %s, not %s",
                           tensor_shape_to_c_string(a.sizes()).data(), tensor_shape_to_c_string(expected).data());
  return true;
}
inline bool tensors_have_same_strides(aten::Tensor a, aten::Tensor b) {
  ET_CHECK_OR_RETURN_FALSE(a.strides() == b.strides(), "the strides of tensors differ");
  return true;
}
inline bool tensors_have_same_strides(aten::Tensor a, aten::Tensor b, aten::Tensor c) {
  return tensors_have_same_strides(a, b) && tensors_have_same_strides(b, c);
}
inline bool tensor_is_contiguous(aten::Tensor t) {
  int64_t stride = 1;
  for (ssize_t i = t.dim(); i-- > 0;) {
    ET_CHECK_OR_RETURN_FALSE(t.stride(i) == stride, "dimension %zd is not contiguous", i);
    stride *= std::max<int64_t>(t.size(i), 1);
  }
  return true;
}
inline bool tensors_have_same_rank(aten::Tensor a, aten::Tensor b) {
  ET_CHECK_OR_RETURN_FALSE(a.dim() == b.dim(), "the ranks of tensors differ");
  return true;
}
inline bool tensor_is_scalar(aten::Tensor t) { return t.dim() == 0 && t.numel() == 1; }

// Return the product of the sizes before, or after, a dimension.
inline size_t getLeadingDims(const aten::Tensor& tensor, int64_t dim) {
  size_t product = 1;
  for (int64_t i = 0; i < dim; ++i) product *= static_cast<size_t>(tensor.size(i));
  return product;
}
inline size_t getTrailingDims(const aten::Tensor& tensor, int64_t dim) {
  size_t product = 1;
  for (int64_t i = dim + 1; i < tensor.dim(); ++i) product *= static_cast<size_t>(tensor.size(i));
  return product;
}
// Convert the coordinates of an element in a contiguous tensor to its index, and back.
inline size_t coordinateToIndex(const aten::Tensor& tensor, const size_t* coordinate) {
  size_t index = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) index = index * static_cast<size_t>(tensor.size(i)) + coordinate[i];
  return index;
}
inline void indexToCoordinate(const aten::Tensor& tensor, size_t index, size_t* coordinate) {
  for (int64_t i = tensor.dim(); i-- > 0;) {
    const auto size = static_cast<size_t>(tensor.size(i));
    coordinate[i] = index % size;
    index /= size;
  }
}
// Returns the index of an element from its coordinates and the strides.
inline size_t calculate_linear_index(const aten::SizesType* coordinate, const aten::StridesType* strides, size_t ndim) {
  size_t index = 0;
  for (size_t i = 0; i < ndim; ++i) index += static_cast<size_t>(coordinate[i]) * static_cast<size_t>(strides[i]);
  return index;
}

// Reads the element of a one-element tensor. Returns whether T can hold it: an integer, a floating-point type or bool.
template <typename T>
bool extract_scalar_tensor(aten::Tensor tensor, T* out_val) {
  if (tensor.numel() != 1) return false;
  const void* data = tensor.const_data_ptr();
  switch (tensor.scalar_type()) {
#define ET_INTERNAL_EXTRACT_CASE(cpp_type, name)                                                        \
  case aten::ScalarType::name: {                                                                        \
    const cpp_type value = *static_cast<const cpp_type*>(data);                                         \
    if constexpr (std::is_same_v<T, bool> != std::is_same_v<cpp_type, bool>) {                          \
      return false;                                                                                     \
    } else if constexpr (std::is_integral_v<T> && !std::is_integral_v<cpp_type>) {                      \
      return false;                                                                                     \
    } else {                                                                                            \
      if constexpr (!std::is_same_v<T, bool>) {                                                         \
        const double number = static_cast<double>(value);                                               \
        if (std::isfinite(number) && (number < static_cast<double>(std::numeric_limits<T>::lowest()) || \
                                      number > static_cast<double>(std::numeric_limits<T>::max()))) {   \
          return false;                                                                                 \
        }                                                                                               \
      }                                                                                                 \
      *out_val = static_cast<T>(value);                                                                 \
      return true;                                                                                      \
    }                                                                                                   \
  }
    ET_FORALL_REALHBBF16_TYPES(ET_INTERNAL_EXTRACT_CASE)
#undef ET_INTERNAL_EXTRACT_CASE
    default:
      return false;
  }
}

// Makes `t_dst` use the memory of `t_src`. The two tensors must have the same size in bytes.
ET_NODISCARD Error share_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src);
// Copies the elements of `t_src` to `t_dst`.
ET_NODISCARD Error copy_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src);
// Makes a tensor use `buffer_size` bytes at `buffer`.
ET_NODISCARD Error set_tensor_data(const aten::Tensor& t, void* buffer, size_t buffer_size);
// Sets the data pointer of a tensor to null.
void reset_data_ptr(const aten::Tensor& tensor);

// Sets the shape of a tensor; see rushlight::resize_tensor().
using ::rushlight::resize_tensor;
template <typename T, std::enable_if_t<!std::is_same_v<T, aten::SizesType>, int> = 0>
ET_NODISCARD Error resize_tensor(aten::Tensor t, ArrayRef<T> new_sizes) {
  std::array<aten::SizesType, kTensorDimensionLimit> sizes{};
  if (new_sizes.size() > sizes.size()) return Error::InvalidArgument;
  for (size_t i = 0; i < new_sizes.size(); ++i) sizes[i] = static_cast<aten::SizesType>(new_sizes[i]);
  return ::rushlight::resize_tensor(t, ArrayRef<aten::SizesType>(sizes.data(), new_sizes.size()));
}

ET_NODISCARD Error get_dim_order(const aten::Tensor& tensor, aten::DimOrderType* out_dim_order,
                                 size_t out_dim_order_size);
inline bool tensor_has_valid_dim_order(aten::Tensor t) {
  return validate_dim_order(t.dim_order().data(), static_cast<size_t>(t.dim()));
}
inline bool tensor_is_default_dim_order(aten::Tensor t) { return ::rushlight::is_contiguous_dim_order(t.dim_order()); }
inline bool tensor_is_channels_last_dim_order(aten::Tensor t) {
  return ::rushlight::is_channels_last_dim_order(t.dim_order());
}
inline bool tensor_is_default_or_channels_last_dim_order(aten::Tensor t) {
  return tensor_is_default_dim_order(t) || tensor_is_channels_last_dim_order(t);
}
template <typename... Tensors>
bool tensors_have_same_dim_order(const aten::Tensor& a, const Tensors&... others) {
  ET_CHECK_OR_RETURN_FALSE(((a.dim_order() == others.dim_order()) && ...), "the dim orders of tensors differ");
  return true;
}
inline bool tensors_have_same_dim_order(const aten::TensorList& tensors) {
  for (const aten::Tensor& tensor : tensors) {
    if (!tensors_have_same_dim_order(tensors[0], tensor)) return false;
  }
  return true;
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::calculate_linear_index;
using ::executorch::runtime::coordinateToIndex;
using ::executorch::runtime::dim_is_valid;
using ::executorch::runtime::extract_scalar_tensor;
using ::executorch::runtime::get_dim_order;
using ::executorch::runtime::getLeadingDims;
using ::executorch::runtime::getTrailingDims;
using ::executorch::runtime::indexToCoordinate;
using ::executorch::runtime::nonempty_size;
using ::executorch::runtime::nonzero_dim;
using ::executorch::runtime::resize_tensor;
using ::executorch::runtime::tensor_can_cast_to;
using ::executorch::runtime::tensor_has_dim;
using ::executorch::runtime::tensor_has_expected_size;
using ::executorch::runtime::tensor_has_non_empty_dim;
using ::executorch::runtime::tensor_has_rank_greater_or_equal_to;
using ::executorch::runtime::tensor_has_rank_smaller_or_equal_to;
using ::executorch::runtime::tensor_is_bool_type;
using ::executorch::runtime::tensor_is_channels_last_dim_order;
using ::executorch::runtime::tensor_is_complex_type;
using ::executorch::runtime::tensor_is_contiguous;
using ::executorch::runtime::tensor_is_default_dim_order;
using ::executorch::runtime::tensor_is_default_or_channels_last_dim_order;
using ::executorch::runtime::tensor_is_floating_type;
using ::executorch::runtime::tensor_is_integral_type;
using ::executorch::runtime::tensor_is_rank;
using ::executorch::runtime::tensor_is_real_type;
using ::executorch::runtime::tensor_is_realh_type;
using ::executorch::runtime::tensor_is_realhb_type;
using ::executorch::runtime::tensor_is_realhbbf16_type;
using ::executorch::runtime::tensor_is_realhbf16_type;
using ::executorch::runtime::tensor_is_scalar;
using ::executorch::runtime::tensor_is_type;
using ::executorch::runtime::tensors_have_same_dim_order;
using ::executorch::runtime::tensors_have_same_dtype;
using ::executorch::runtime::tensors_have_same_rank;
using ::executorch::runtime::tensors_have_same_shape;
using ::executorch::runtime::tensors_have_same_shape_and_dtype;
using ::executorch::runtime::tensors_have_same_size_at_dims;
using ::executorch::runtime::tensors_have_same_strides;
namespace internal {
using ::executorch::runtime::copy_tensor_data;
using ::executorch::runtime::reset_data_ptr;
using ::executorch::runtime::set_tensor_data;
using ::executorch::runtime::share_tensor_data;
}  // namespace internal
}  // namespace executor
}  // namespace torch

namespace executorch {
namespace runtime {
namespace internal {
using ::executorch::runtime::copy_tensor_data;
using ::executorch::runtime::reset_data_ptr;
using ::executorch::runtime::set_tensor_data;
using ::executorch::runtime::share_tensor_data;
}  // namespace internal
}  // namespace runtime
}  // namespace executorch
