#pragma once

#include <nanobind/nanobind.h>

namespace rushlight::python {

void bind_kernels(nanobind::module_& module);

}  // namespace rushlight::python
