#include "python/errors.h"

#include <utility>

namespace rushlight::python {

namespace nb = nanobind;

namespace {

nb::object error_for(Error code, const std::string& message) {
  return nb::module_::import_("rushlight.runtime.errors").attr("error_for")(static_cast<int>(code), to_str(message));
}

[[noreturn]] void throw_object(const nb::object& error) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace

void raise(Error code, const std::string& message) { throw_object(error_for(code, message)); }

void raise_at(Error code, const std::string& message, std::string_view method, int instruction,
              nb::object delegate_operator) {
  const nb::object error = error_for(code, message);
  error.attr("method") = to_str(method);
  if (instruction >= 0) error.attr("instruction") = instruction;
  error.attr("delegate_operator") = std::move(delegate_operator);
  throw_object(error);
}

nb::str to_str(std::string_view text) {
  PyObject* object = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!object) throw nb::python_error();
  return nb::steal<nb::str>(object);
}

std::string type_name_of(nb::handle object) { return text_of(object.type().attr("__name__")); }

std::string text_of(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  Py_ssize_t size = 0;
  const char* characters = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (!characters) throw nb::python_error();
  return std::string(characters, static_cast<size_t>(size));
}

}  // namespace rushlight::python
