#pragma once

// What et_pal_get_shared_library_name() returns where it cannot tell.
static constexpr const char* DYNAMIC_LIBRARY_NOT_SUPPORTED = "NOT_SUPPORTED";
static constexpr const char* DYNAMIC_LIBRARY_NOT_FOUND = "NOT_FOUND";

// Returns the name of the shared library that has the address.
extern "C" inline const char* et_pal_get_shared_library_name(const void*) { return DYNAMIC_LIBRARY_NOT_SUPPORTED; }
