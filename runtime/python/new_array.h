#pragma once

#include <nanobind/nanobind.h>

#include "python/dlpack.h"
#include "rushlight/core/evalue.h"
#include "rushlight/core/tensor.h"

namespace rushlight::python {

namespace nb = nanobind;

// A Python array and the address of its elements.
struct NewArray {
  nb::object object;
  void* data = nullptr;
};

// Makes an array that owns its memory. The elements are not initialized, and are dense in `dim_order`. `api` is the
// interface of the array's library (torch); null means numpy. Raises NotSupportedError for a dtype that numpy does not
// have.
NewArray new_array(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                   const DimOrderType* dim_order);

// Makes an array over memory that `owner` keeps valid, dense in `dim_order`. The array keeps `owner` alive.
nb::object view_array(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                      const DimOrderType* dim_order, void* data, nb::handle owner);

// Copies a value to Python. Tensors become new arrays of the library of `api`; see new_array().
nb::object to_python(const EValue& value, const ExchangeApi* api);

// Returns the exchange interface of torch.Tensor if torch is loaded in this process, else null.
const ExchangeApi* loaded_torch();

}  // namespace rushlight::python
