#include "python/bindings.h"

NB_MODULE(_native, module) {
  // nanobind would report objects that live until the interpreter ends as leaks, but a user cannot fix these.
  nanobind::set_leak_warnings(false);
  module.doc() = "The native runtime.";
  rushlight::python::bind_executor_runner(module);
  rushlight::python::bind_kernels(module);
  rushlight::python::bind_libraries(module);
  rushlight::python::bind_openvino(module);
  rushlight::python::bind_machine(module);
  rushlight::python::bind_memory_search(module);
  rushlight::python::bind_metadata(module);
  rushlight::python::bind_program(module);
  rushlight::python::bind_method(module);
  rushlight::python::bind_bundled(module);
  rushlight::python::bind_softmax(module);
  rushlight::python::bind_training(module);
}
