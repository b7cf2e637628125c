#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "python/bindings.h"
#include "python/errors.h"
#include "rushlight/module/library.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

nb::tuple describe(const LoadedLibrary& library) {
  nb::list kernels, backends;
  for (const Kernel& row : library.rows) kernels.append(to_str(row.name));
  for (const Backend& row : library.backends) backends.append(to_str(row.id));
  return nb::make_tuple(to_str(library.name), to_str(library.path), kernels, backends);
}

}  // namespace

void bind_libraries(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "load_library",
      [](const std::string& path) {
        clear_last_error_message();
        const auto library = load_library(path.c_str());
        if (!library.ok()) raise_if(library.error());
        return describe(**library);
      },
      "path"_a, nb::sig("def load_library(path: str) -> tuple[str, str, list[str], list[str]]"),
      "Loads a shared library, which stays loaded. Returns its name, its absolute path, its operators and its\n"
      "backends.");
  module.def(
      "loaded_libraries",
      [] {
        nb::list libraries;
        for (const LoadedLibrary* library : loaded_libraries()) libraries.append(describe(*library));
        return libraries;
      },
      nb::sig("def loaded_libraries() -> list[tuple[str, str, list[str], list[str]]]"));
}

}  // namespace rushlight::python
