#pragma once

#include <nanobind/nanobind.h>

#include "python/dlpack.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/tensor.h"

namespace rushlight::python {

namespace nb = nanobind;

// A Python array and the place of its elements.
struct NewArray {
  nb::object object;
  void* data = nullptr;
};

// Makes an array that owns its memory, not initialized, dense in `dim_order`. The array belongs to the library of `api`
// (torch), or to numpy if `api` is null. Raises NotSupportedError for a dtype that numpy lacks.
NewArray new_array(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                   const DimOrderType* dim_order);

// Copies a value to Python. Its tensors become arrays of the library of `api`, as those of new_array().
nb::object to_python(const EValue& value, const ExchangeApi* api);

// Returns the exchange interface of torch.Tensor if torch is loaded in this process, else null.
const ExchangeApi* loaded_torch();

}  // namespace rushlight::python
