#include <nanobind/nanobind.h>

#include <cstring>

#include "python/bindings.h"

#if defined(RUSHLIGHT_HAS_BACKEND_OPENVINO)
#include "rushlight/backends/openvino.h"
#endif

namespace rushlight::python {

namespace nb = nanobind;

#if defined(RUSHLIGHT_HAS_BACKEND_OPENVINO)

// Finds the OpenVINO library in the installed Python package; see OpenvinoLocator.
static bool locate(char* path, size_t size) {
  const nb::gil_scoped_acquire gil;
  try {
    const nb::object found = nb::module_::import_("rushlight.runtime.openvino").attr("library_path")();
    if (found.is_none()) return false;
    const nb::bytes encoded = nb::cast<nb::bytes>(nb::module_::import_("os").attr("fsencode")(found));
    if (encoded.size() >= size) return false;
    std::memcpy(path, encoded.c_str(), encoded.size() + 1);
    return true;
  } catch (const nb::python_error&) {
    return false;  // the package cannot be found
  }
}

void bind_openvino(nb::module_&) { set_openvino_locator(locate); }

#else

void bind_openvino(nb::module_&) {}

#endif

}  // namespace rushlight::python
