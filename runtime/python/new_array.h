#pragma once

#include <nanobind/nanobind.h>

#include "python/dlpack.h"
#include "rushlight/core/tensor.h"

namespace rushlight::python {

namespace nb = nanobind;

// A Python array and where its elements are.
struct NewArray {
  nb::object object;
  void* data = nullptr;
};

// An array of its own memory, not initialised, densely packed in `dim_order`: of the library that `api` belongs to
// (torch), or of numpy if it is null. Raises NotSupportedError for an element type that numpy does not have.
NewArray new_array(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                   const DimOrderType* dim_order);

// The exchange interface of torch.Tensor if torch is loaded in this process, else null.
const ExchangeApi* loaded_torch();

}  // namespace rushlight::python
