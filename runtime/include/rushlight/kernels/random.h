#pragma once

#include <cstdint>

namespace rushlight {

// Seeds the random numbers of all methods of this process, which begin with a fixed seed: a process that makes the same
// calls in the same order gets the same numbers, with any number of threads.
void seed_random(uint64_t seed);

}  // namespace rushlight
