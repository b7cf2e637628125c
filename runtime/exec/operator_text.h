#pragma once

#include <string_view>

#include "platform/format.h"
#include "program/gate.h"
#include "rushlight/program/method_meta.h"

namespace rushlight {

// "aten::add.out" from its parts, NUL-terminated.
struct OperatorText {
  explicit OperatorText(const OperatorName& name) {
    const int length = name.overload.empty()
                           ? format_text(text, sizeof(text), "%s", name.name.data())
                           : format_text(text, sizeof(text), "%s.%s", name.name.data(), name.overload.data());
    view = std::string_view(text, static_cast<size_t>(length));
  }
  OperatorText(const OperatorText&) = delete;
  char text[kMaxOperatorName + 2];
  std::string_view view;
};

}  // namespace rushlight
