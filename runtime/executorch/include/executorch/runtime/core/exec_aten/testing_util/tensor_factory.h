#pragma once

#include <cstdint>
#include <vector>

#include "executorch/extension/tensor/tensor.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/core/exec_aten/util/scalar_type_util.h"
#include "executorch/runtime/platform/assert.h"

namespace executorch {
namespace runtime {
namespace testing {

// Makes tensors of one dtype for tests. The factory owns the tensors and must outlive them.
template <aten::ScalarType DTYPE>
class TensorFactory {
 public:
  using ctype = typename ScalarTypeToCppType<DTYPE>::type;

  // Makes a tensor with these elements. `strides` are in elements; empty means a contiguous tensor.
  aten::Tensor make(const std::vector<int32_t>& sizes, const std::vector<ctype>& data,
                    const std::vector<int32_t> strides = {},
                    TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    aten::Tensor tensor = keep(extension::empty_strided(sizes, strides, DTYPE, dynamism));
    ET_CHECK_MSG(static_cast<size_t>(tensor.numel()) == data.size(),
                 "%zu elements are given for a tensor of %zd elements", data.size(),
                 static_cast<ssize_t>(tensor.numel()));
    for (size_t i = 0; i < data.size(); ++i) tensor.mutable_data_ptr<ctype>()[i] = data[i];
    return tensor;
  }
  // Makes a channels-last tensor; `data` is in memory order.
  aten::Tensor make_channels_last(const std::vector<int32_t>& sizes, const std::vector<ctype>& data,
                                  TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    ET_CHECK_MSG(sizes.size() == 4, "channels-last tensors have 4 dimensions, not %zu", sizes.size());
    return make(sizes, data, {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]}, dynamism);
  }
  aten::Tensor full(const std::vector<int32_t>& sizes, ctype value,
                    TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    aten::Tensor tensor = keep(extension::empty(sizes, DTYPE, dynamism));
    for (int64_t i = 0; i < tensor.numel(); ++i) tensor.mutable_data_ptr<ctype>()[i] = value;
    return tensor;
  }
  aten::Tensor zeros(const std::vector<int32_t>& sizes, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full(sizes, ctype(0), dynamism);
  }
  aten::Tensor ones(const std::vector<int32_t>& sizes, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full(sizes, ctype(1), dynamism);
  }
  aten::Tensor full_like(const aten::Tensor& other, ctype value,
                         TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full({other.sizes().begin(), other.sizes().end()}, value, dynamism);
  }
  aten::Tensor zeros_like(const aten::Tensor& other, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_like(other, ctype(0), dynamism);
  }
  aten::Tensor ones_like(const aten::Tensor& other, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_like(other, ctype(1), dynamism);
  }

 private:
  aten::Tensor keep(extension::TensorPtr tensor) {
    ET_CHECK_MSG(tensor != nullptr, "the shape or the strides of a tensor are invalid");
    tensors_.push_back(tensor);
    return *tensor;
  }
  std::vector<extension::TensorPtr> tensors_;
};

}  // namespace testing
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
namespace testing {
using ::executorch::runtime::testing::TensorFactory;
}  // namespace testing
}  // namespace executor
}  // namespace torch
