#pragma once

#include <cstdint>

namespace rushlight {

// Sets the seed of the random operators for all methods of this process. The first seed is fixed: a process that makes
// the same calls in the same order gets the same numbers, with any number of threads.
void seed_random(uint64_t seed);

}  // namespace rushlight
