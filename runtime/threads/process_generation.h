#pragma once

#include <cstdint>

namespace rushlight {

// Returns a number that increases in the child process at each fork(); the first is 1. Threads and locks of an earlier
// generation belong to the parent process.
uint64_t process_generation();

}  // namespace rushlight
