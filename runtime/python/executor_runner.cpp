#include "cli/executor_runner.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "python/bindings.h"

namespace rushlight::python {

namespace nb = nanobind;

void bind_executor_runner(nb::module_& module) {
  module.def(
      "executor_runner",
      [](std::vector<std::string> arguments) {
        std::vector<char*> pointers;
        for (std::string& argument : arguments) pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        const nb::gil_scoped_release release;
        return executor_runner(static_cast<int>(arguments.size()), pointers.data());
      },
      nb::arg("arguments"), "Runs executor_runner with a command line, and returns its exit status.");
}

}  // namespace rushlight::python
