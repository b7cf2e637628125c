#pragma once

#include <optional>

namespace torch {
namespace executor {
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace executor
}  // namespace torch
