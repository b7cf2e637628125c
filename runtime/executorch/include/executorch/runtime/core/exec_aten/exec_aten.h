#pragma once

#include <optional>
#include <string_view>

#include "executorch/runtime/core/array_ref.h"
#include "executorch/runtime/core/error.h"
#include "executorch/runtime/core/portable_type/device.h"
#include "executorch/runtime/core/portable_type/optional.h"
#include "executorch/runtime/core/portable_type/scalar.h"
#include "executorch/runtime/core/portable_type/scalar_type.h"
#include "executorch/runtime/core/portable_type/string_view.h"
#include "executorch/runtime/core/portable_type/tensor.h"
#include "executorch/runtime/core/result.h"
#include "executorch/runtime/core/span.h"
#include "executorch/runtime/core/tensor_shape_dynamism.h"
#include "executorch/runtime/platform/assert.h"
#include "executorch/runtime/platform/compiler.h"

// Names for tensors and their attributes. They are the same in all builds of ExecuTorch.
namespace executorch {
namespace aten {

using ::executorch::runtime::TensorShapeDynamism;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;

using ::executorch::runtime::etensor::Tensor;
using ::executorch::runtime::etensor::TensorImpl;
template <typename T>
using ArrayRef = ::executorch::runtime::ArrayRef<T>;
using TensorList = ArrayRef<Tensor>;
using IntArrayRef = ArrayRef<int64_t>;
template <typename T>
using OptionalArrayRef = std::optional<ArrayRef<T>>;
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

using ::executorch::runtime::etensor::BFloat16;
using ::executorch::runtime::etensor::complex;
using ::executorch::runtime::etensor::Device;
using ::executorch::runtime::etensor::DeviceType;
using ::executorch::runtime::etensor::Half;
using ::executorch::runtime::etensor::Layout;
using ::executorch::runtime::etensor::MemoryFormat;
using ::executorch::runtime::etensor::qint32;
using ::executorch::runtime::etensor::qint8;
using ::executorch::runtime::etensor::quint2x4;
using ::executorch::runtime::etensor::quint4x2;
using ::executorch::runtime::etensor::quint8;
using ::executorch::runtime::etensor::Scalar;
using ::executorch::runtime::etensor::ScalarType;

using SizesType = Tensor::SizesType;
using DimOrderType = Tensor::DimOrderType;
using StridesType = Tensor::StridesType;

using ::executorch::runtime::etensor::compute_numel;
using ::executorch::runtime::etensor::safe_numel;

}  // namespace aten
}  // namespace executorch

namespace exec_aten = ::executorch::aten;

namespace torch {
namespace executor {
using ::executorch::aten::TensorList;
}  // namespace executor
}  // namespace torch
