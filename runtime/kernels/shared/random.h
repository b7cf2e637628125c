#pragma once

#include <cstdint>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"
#include "rushlight/kernels/random.h"

namespace rushlight {

// Random bits that depend only on their position, so that any thread can compute any part of them. The generator is
// Philox4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw: Parallel random numbers: as easy as 1, 2, 3, 2011). The key
// is the seed, the counter is (position, stream).
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  // Four words of 32 bits.
  struct Words {
    uint32_t word[4];
  };
  Words at(uint64_t position) const;
  // Return a number in [0, 1) with 24 bits, or with 53 bits.
  float uniform(uint64_t position) const { return static_cast<float>(at(position).word[0] >> 8) * 0x1p-24f; }
  double uniform_double(uint64_t position) const;
  // Returns a normally distributed number by the Box-Muller transform.
  double normal(uint64_t position) const;
  // Returns a uniformly distributed integer in [0, limit). `limit` must be at least 1.
  uint64_t below(uint64_t position, uint64_t limit) const;

 private:
  uint64_t seed_, stream_;
};

// Returns a new stream for each call of a kernel.
RandomStream next_random_stream();

// Fill a floating-point tensor with uniform numbers in [0, 1), or with normal numbers of mean 0 and variance 1.
void fill_uniform(KernelRuntimeContext& context, const Tensor& out);
void fill_normal(KernelRuntimeContext& context, const Tensor& out);

}  // namespace rushlight
