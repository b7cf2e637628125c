#pragma once

#include <nanobind/nanobind.h>

namespace rushlight::python {

void bind_bundled(nanobind::module_& module);
void bind_executor_runner(nanobind::module_& module);
void bind_kernels(nanobind::module_& module);
void bind_libraries(nanobind::module_& module);
void bind_openvino(nanobind::module_& module);
void bind_machine(nanobind::module_& module);
void bind_memory_search(nanobind::module_& module);
void bind_metadata(nanobind::module_& module);
void bind_program(nanobind::module_& module);
void bind_method(nanobind::module_& module);
void bind_softmax(nanobind::module_& module);
void bind_training(nanobind::module_& module);

}  // namespace rushlight::python
