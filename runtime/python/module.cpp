#include "python/bindings.h"

NB_MODULE(_native, module) {
  module.doc() = "The native runtime.";
  rushlight::python::bind_kernels(module);
}
