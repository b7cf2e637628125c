#include "kernels/shared/random.h"

#include <atomic>
#include <cmath>

#include "kernels/shared/dtype_switch.h"

namespace rushlight {
namespace {

std::atomic<uint64_t> g_seed{0x9e3779b97f4a7c15u};
std::atomic<uint64_t> g_stream{0};

}  // namespace

void seed_random(uint64_t seed) {
  g_seed.store(seed);
  g_stream.store(0);
}

RandomStream next_random_stream() { return RandomStream(g_seed.load(), g_stream.fetch_add(1)); }

RandomStream::Words RandomStream::at(uint64_t position) const {
  uint32_t c[4] = {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                   static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)};
  uint32_t key0 = static_cast<uint32_t>(seed_), key1 = static_cast<uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xd2511f53u} * c[0];
    const uint64_t product1 = uint64_t{0xcd9e8d57u} * c[2];
    const uint32_t next0 = static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0;
    const uint32_t next2 = static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1;
    c[0] = next0;
    c[1] = static_cast<uint32_t>(product1);
    c[2] = next2;
    c[3] = static_cast<uint32_t>(product0);
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

double RandomStream::uniform_double(uint64_t position) const {
  const Words words = at(position);
  const uint64_t bits = uint64_t{words.word[0]} << 32 | words.word[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

double RandomStream::normal(uint64_t position) const {
  const Words words = at(position);
  // The number is in (0, 1], so that its logarithm is finite.
  const double radius = (static_cast<double>(words.word[0]) + 1.0) * 0x1p-32;
  const double angle = static_cast<double>(words.word[1]) * (0x1p-32 * 6.283185307179586);
  return std::sqrt(-2.0 * std::log(radius)) * std::cos(angle);
}

uint64_t RandomStream::below(uint64_t position, uint64_t limit) const {
  const Words words = at(position);
  return (uint64_t{words.word[0]} << 32 | words.word[1]) % limit;
}

void fill_uniform(KernelRuntimeContext& context, const Tensor& out) {
  const RandomStream random = next_random_stream();
  switch_dtype<dtypes::kFloatH>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.mutable_data_ptr<T>();
    context.parallel_for(0, out.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t position = static_cast<uint64_t>(i);
        if constexpr (std::is_same_v<T, double>) {
          to[i] = random.uniform_double(position);
        } else if constexpr (std::is_same_v<T, float>) {
          to[i] = random.uniform(position);
        } else {
          // The number has as many bits as the significand of the type, so that it is never rounded up to 1.
          const int bits = std::is_same_v<T, Half> ? 11 : 8;
          to[i] = T(static_cast<float>(random.at(position).word[0] >> (32 - bits)) / static_cast<float>(1 << bits));
        }
      }
    });
  });
}

void fill_normal(KernelRuntimeContext& context, const Tensor& out) {
  const RandomStream random = next_random_stream();
  switch_dtype<dtypes::kFloatH>(context, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.mutable_data_ptr<T>();
    context.parallel_for(0, out.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double value = random.normal(static_cast<uint64_t>(i));
        if constexpr (std::is_same_v<T, double>) {
          to[i] = value;
        } else {
          to[i] = T(static_cast<float>(value));
        }
      }
    });
  });
}

}  // namespace rushlight
