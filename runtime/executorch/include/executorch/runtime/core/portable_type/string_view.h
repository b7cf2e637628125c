#pragma once

#include <string_view>

namespace torch {
namespace executor {
using std::string_view;
}  // namespace executor
}  // namespace torch
