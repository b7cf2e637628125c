// This module exports the functions of rushlight.h to JavaScript. js/rushlight.js reads the structs by these offsets.
#include <cstddef>
#include <version>

#include "rushlight.h"

// The C++ library calls this function when it cannot continue. The library's own version prints a message and needs the
// whole of printf.
#if defined(_LIBCPP_VERSION)
_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept { __builtin_trap(); }
_LIBCPP_END_NAMESPACE_STD
#endif
extern "C" [[noreturn]] void __cxa_pure_virtual() { __builtin_trap(); }

static_assert(sizeof(rushlight_value) == 120 && offsetof(rushlight_value, kind) == 0);
static_assert(offsetof(rushlight_value, dtype) == 4 && offsetof(rushlight_value, rank) == 8);
static_assert(offsetof(rushlight_value, sizes) == 12 && offsetof(rushlight_value, dim_order) == 76);
static_assert(offsetof(rushlight_value, data) == 92 && offsetof(rushlight_value, nbytes) == 96);
static_assert(offsetof(rushlight_value, integer) == 104 && offsetof(rushlight_value, real) == 112);
static_assert(sizeof(rushlight_value_info) == 104 && offsetof(rushlight_value_info, kind) == 4);
static_assert(offsetof(rushlight_value_info, dtype) == 8 && offsetof(rushlight_value_info, rank) == 12);
static_assert(offsetof(rushlight_value_info, dynamism) == 16 && offsetof(rushlight_value_info, sizes) == 20);
static_assert(sizeof(rushlight_method_info) == 24 && offsetof(rushlight_method_info, outputs) == 8);
static_assert(sizeof(rushlight_method_options) == 32 && offsetof(rushlight_method_options, threads) == 4);
