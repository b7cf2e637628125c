#pragma once

#include <cstdint>

#include "program/extended_header.h"
#include "rushlight/core/error.h"

namespace rushlight {

// Names longer than this (operator and overload together) are refused.
constexpr size_t kMaxOperatorName = 250;
constexpr uint32_t kMaxMethods = 4096;

// Checks everything in structurally verified tables that later code relies on: indices, types, sizes, bounds of
// memories and segments. InvalidProgram or NotSupported, with method, value, instruction and operator in the message.
Error check_program(const uint8_t* root, const FileLayout& layout);

}  // namespace rushlight
