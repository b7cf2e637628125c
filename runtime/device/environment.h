#pragma once

#include "rushlight/exec/method.h"

namespace rushlight::device {

// Returns the kernels and backends of a selective build.
Environment environment();

}  // namespace rushlight::device
