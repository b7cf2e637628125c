#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "rushlight/core/error.h"

namespace rushlight::python {

// Throws the exception class of rushlight.runtime.errors for this code.
[[noreturn]] void raise(Error code, const std::string& message);

// Does the same for an execution that failed at an instruction of the method (-1 means before the first one). If the
// instruction calls a delegate, `delegate_operator` is a number, a name, or None.
[[noreturn]] void raise_at(Error code, const std::string& message, std::string_view method, int instruction,
                           nanobind::object delegate_operator);

// Throws the exception with the last error message of this thread, unless the code is Ok.
inline void raise_if(Error code) {
  if (code != Error::Ok) raise(code, last_error_message());
}

// Return the name of an object's type, and the text of the object as str() prints it.
std::string type_name_of(nanobind::handle object);
std::string text_of(nanobind::handle object);

// Returns a text as a Python string. Bytes that are not UTF-8 are replaced.
nanobind::str to_str(std::string_view text);

}  // namespace rushlight::python
