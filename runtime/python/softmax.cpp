#include <nanobind/nanobind.h>

#include "microkernels/tables/f32.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/tensor_view.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

void softmax_in_place(nb::handle values) {
  BorrowedTensor borrowed;
  bool is_array = false;
  try {
    is_array = borrowed.borrow(values);
  } catch (const NoTensor& error) {
    raise(Error::InvalidType, "softmax_in_place needs an array, " + error.reason);
  }
  const TensorView& view = borrowed.view;
  if (!is_array || view.dtype != ScalarType::Float || view.dim != 1 || view.read_only ||
      (view.numel() > 1 && view.strides[0] != 1)) {
    raise(Error::InvalidArgument, "softmax_in_place needs a writable, dense float32 array of one dimension");
  }
  float* data = static_cast<float*>(view.data);
  if (view.numel() > 0) microkernels::f32_microkernels().softmax(false, data, data, view.numel());
}

}  // namespace

void bind_softmax(nb::module_& module) {
  using namespace nb::literals;
  module.def("softmax_in_place", &softmax_in_place, "values"_a,
             nb::sig("def softmax_in_place(values: typing.Any) -> None"),
             "Replaces the float32 values of a one-dimensional array by their softmax.");
}

}  // namespace rushlight::python
