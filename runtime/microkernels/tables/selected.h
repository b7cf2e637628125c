// What a selective build has of the microkernels: `rushlight select` writes selected_microkernels.h, with RL_SELECTED,
// the members of the tables that some source calls (`packed.<member>` of F32PackedMicrokernels), the windows
// `window<size>` of depthwise convolutions and `f16`, if programs have 16-bit floats, and RL_SELECTED_FUNCTIONS, bits
// of UnaryOp.
#pragma once

#include <cstdint>

#if defined(RUSHLIGHT_SELECTED_ISAS)
#include "selected_microkernels.h"
#endif

namespace rushlight::microkernels {

enum class UnaryOp : uint8_t;

#if defined(RUSHLIGHT_SELECTED_ISAS)

constexpr bool is_selected(UnaryOp op) { return ((RL_SELECTED_FUNCTIONS >> static_cast<int>(op)) & 1) != 0; }

// `name` is a word of RL_SELECTED, which begins and ends with a space.
constexpr bool is_selected(const char* name) {
  for (const char* list = RL_SELECTED; *list != '\0'; ++list) {
    if (*list != ' ') continue;
    const char* word = list + 1;
    const char* wanted = name;
    while (*wanted != '\0' && *word == *wanted) ++word, ++wanted;
    if (*wanted == '\0' && *word == ' ') return true;
  }
  return false;
}

#else

constexpr bool is_selected(UnaryOp) { return true; }
constexpr bool is_selected(const char*) { return true; }

#endif

// Whether the build (CMAKE_BUILD_TYPE=MinSizeRel) or this file is to be small: tables then have fewer variants of long
// functions. Each file has a value of its own.
#if defined(RUSHLIGHT_SMALL)
static constexpr bool kIsSmall = true;
#else
static constexpr bool kIsSmall = false;
#endif

// Sets a member of the table `t` to a function, if the build has it.
#define RL_SET_IF(name, member, function)        \
  do {                                           \
    if (is_selected(name)) t.member = &function; \
  } while (0)
#define RL_SET(member, function) RL_SET_IF(#member, member, function)
#define RL_SET_PACKED(member, function) RL_SET_IF("packed." #member, member, function)

}  // namespace rushlight::microkernels
