#include "python/errors.h"

namespace rushlight::python {

namespace nb = nanobind;

void raise(Error code, const std::string& message) {
  const nb::object error =
      nb::module_::import_("rushlight.runtime.errors").attr("error_for")(static_cast<int>(code), to_str(message));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

nb::str to_str(std::string_view text) {
  PyObject* object = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!object) throw nb::python_error();
  return nb::steal<nb::str>(object);
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
