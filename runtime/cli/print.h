#pragma once

#include "cli/options.h"
#include "rushlight/exec/method.h"

namespace rushlight {

// Prints the name, inputs, outputs, memories and backends of a method.
void print_method(const MethodMeta& meta);

void print_outputs(const Method& method, PrintMode mode);

}  // namespace rushlight
