#pragma once

#include "rushlight/core/half.h"

namespace c10 {
using ::rushlight::BFloat16;
}  // namespace c10
