#pragma once

#include "rushlight/core/half.h"

namespace c10 {
using ::rushlight::Half;
}  // namespace c10
