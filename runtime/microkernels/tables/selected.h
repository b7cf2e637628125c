// Which microkernels a selective build contains. `rushlight select` writes selected_microkernels.h, which defines two
// macros. RL_SELECTED lists the table members that the build calls (`packed.<member>` for F32PackedMicrokernels),
// `window<size>` for the windows of depthwise convolutions, and the features of Usage.features in select/usage.py.
// RL_SELECTED_FUNCTIONS has a bit for each UnaryOp.
#pragma once

#include <cstdint>

#if defined(RUSHLIGHT_SELECTED_ISAS)
#include "selected_microkernels.h"
#endif

namespace rushlight::microkernels {

enum class UnaryOp : uint8_t;

#if defined(RUSHLIGHT_SELECTED_ISAS)

constexpr bool is_selected(UnaryOp op) { return ((RL_SELECTED_FUNCTIONS >> static_cast<int>(op)) & 1) != 0; }

// Returns whether RL_SELECTED, which begins and ends with a space, contains the word `name`.
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

// Whether the build supports 16-bit floats, matrices with int8 weights that have a scale for each group of rows, and
// matrix products with a prologue. These are constants because compilers would otherwise search the list at run time.
inline constexpr bool kHasF16 = is_selected("f16");
inline constexpr bool kHasGrouped = is_selected("grouped");
inline constexpr bool kHasPrologue = is_selected("prologue");

// Whether code size is more important than speed, in the whole build (CMAKE_BUILD_TYPE=MinSizeRel) or in this file. The
// tables then have fewer variants of long functions. The value may differ from file to file.
#if defined(RUSHLIGHT_SMALL)
static constexpr bool kIsSmall = true;
#else
static constexpr bool kIsSmall = false;
#endif

// Whether this file leaves out variants of functions for rare shapes: in small code, and in WebAssembly, because
// browsers download it.
#if defined(__wasm__)
static constexpr bool kIsCompact = true;
#else
static constexpr bool kIsCompact = kIsSmall;
#endif

// Sets a member of the table `t` to a function, if the build contains this member.
#define RL_SET_IF(name, member, function)        \
  do {                                           \
    if (is_selected(name)) t.member = &function; \
  } while (0)
#define RL_SET(member, function) RL_SET_IF(#member, member, function)
#define RL_SET_PACKED(member, function) RL_SET_IF("packed." #member, member, function)

}  // namespace rushlight::microkernels
