#pragma once

#include <cstdint>

#include "program/extended_header.h"
#include "rushlight/core/error.h"

namespace rushlight {

// The longest allowed name, operator and overload together.
constexpr size_t kMaxOperatorName = 250;
constexpr uint32_t kMaxMethods = 4096;

// Validates the tables of a program after verify(): indices, types, sizes, and bounds of memories and segments. Returns
// InvalidProgram or NotSupported, with method, value, instruction and operator in the message.
Error check_program(const uint8_t* root, const FileLayout& layout);

}  // namespace rushlight
