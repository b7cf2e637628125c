#pragma once

// The result of et_pal_get_shared_library_name() if the name is unknown.
static constexpr const char* DYNAMIC_LIBRARY_NOT_SUPPORTED = "NOT_SUPPORTED";
static constexpr const char* DYNAMIC_LIBRARY_NOT_FOUND = "NOT_FOUND";

// Returns the name of the shared library that contains the address.
extern "C" inline const char* et_pal_get_shared_library_name(const void*) { return DYNAMIC_LIBRARY_NOT_SUPPORTED; }
