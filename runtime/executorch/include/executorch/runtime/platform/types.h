#pragma once

#include <cstdint>

// A time in ticks; et_pal_ticks_to_ns_multiplier() gives the length of a tick.
extern "C" {
typedef uint64_t et_timestamp_t;
}
