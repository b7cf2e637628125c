#pragma once

#include <cstdint>

namespace rushlight {

// Counts forks, from 1. Threads and locks of an earlier generation belong to the parent process.
uint64_t process_generation();

}  // namespace rushlight
