#include "python/errors.h"

namespace rushlight::python {

namespace nb = nanobind;

void raise(Error code, const std::string& message) {
  const nb::object error = nb::module_::import_("rushlight.runtime.errors")
                               .attr("error_for")(static_cast<int>(code), nb::str(message.data(), message.size()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

std::string type_name_of(nb::handle object) {
  const std::string name = Py_TYPE(object.ptr())->tp_name;
  return name.substr(name.rfind('.') + 1);
}

std::string text_of(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  const char* characters = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (!characters) throw nb::python_error();
  return characters;
}

}  // namespace rushlight::python
