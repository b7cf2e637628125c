#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "python/errors.h"
#include "rushlight/core/backend.h"

namespace rushlight::python {

// One option of a backend, with the memory of its texts.
class OptionValue {
 public:
  // Converts a bool, an int or a str. Raises TypeError for other types.
  OptionValue(nanobind::handle key, nanobind::handle value) : key_(text_of(key)) {
    if (PyBool_Check(value.ptr())) {
      value_ = EValue(value.is(nanobind::bool_(true)));
    } else if (PyLong_Check(value.ptr())) {
      value_ = EValue(nanobind::cast<int64_t>(value));
    } else if (PyUnicode_Check(value.ptr())) {
      text_ = text_of(value);
      characters_ = text_;
      value_ = EValue(&characters_);
    } else {
      raise(Error::InvalidType, "option '" + key_ + "' must be a bool, an int or a str, not " + type_name_of(value));
    }
  }
  OptionValue(const OptionValue&) = delete;
  OptionValue& operator=(const OptionValue&) = delete;

  BackendOption view() const { return {key_, value_}; }

 private:
  std::string key_;
  std::string text_;
  std::string_view characters_;
  EValue value_;
};

}  // namespace rushlight::python
