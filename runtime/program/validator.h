#pragma once

#include <cstdint>

#include "program/extended_header.h"
#include "rushlight/core/error.h"

namespace rushlight {

// The largest number of characters of an operator name and its overload name together.
constexpr size_t kMaxOperatorName = 250;
constexpr uint32_t kMaxMethods = 4096;

// Validates the tables of a program after verify(): indices, types, sizes, and bounds of memories and segments. Returns
// InvalidProgram or NotSupported; the message names the method, value, instruction and operator.
Error check_program(const uint8_t* root, const FileLayout& layout);

}  // namespace rushlight
