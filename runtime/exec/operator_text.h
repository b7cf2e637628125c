#pragma once

#include <string_view>

#include "exec/join_texts.h"
#include "program/validator.h"
#include "rushlight/program/method_meta.h"

namespace rushlight {

// Joins the parts of an operator's name to "aten::add.out", NUL-terminated.
struct OperatorText {
  explicit OperatorText(const OperatorName& name) {
    const std::string_view dot = name.overload.empty() ? "" : ".";
    view = std::string_view(text, join_texts(text, sizeof(text), {name.name, dot, name.overload}));
  }
  OperatorText(const OperatorText&) = delete;
  char text[kMaxOperatorName + 2];
  std::string_view view;
};

}  // namespace rushlight
