#include "core/sha256.h"

#include <cstring>

namespace rushlight {
namespace {

constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotate(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

void store_big_endian(uint32_t word, uint8_t* to) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<uint8_t>(word >> (24 - 8 * i));
}

}  // namespace

void Sha256::mix(const uint8_t* block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i, block += 4) {
    w[i] = uint32_t{block[0]} << 24 | uint32_t{block[1]} << 16 | uint32_t{block[2]} << 8 | block[3];
  }
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t s[8];
  std::memcpy(s, state_, sizeof(s));
  for (int i = 0; i < 64; ++i) {
    const uint32_t s1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t t1 = s[7] + s1 + choice + kRoundConstants[i] + w[i];
    const uint32_t s0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    for (int j = 7; j > 0; --j) s[j] = s[j - 1];
    s[4] += t1;
    s[0] = t1 + s0 + majority;
  }
  for (int i = 0; i < 8; ++i) state_[i] += s[i];
}

void Sha256::update(const void* data, size_t size) {
  const uint8_t* bytes = static_cast<const uint8_t*>(data);
  total_ += size;
  while (size > 0) {
    if (filled_ == 0 && size >= kBlockBytes) {
      mix(bytes);
      bytes += kBlockBytes;
      size -= kBlockBytes;
      continue;
    }
    const size_t space = kBlockBytes - filled_;
    const size_t taken = size < space ? size : space;
    std::memcpy(block_ + filled_, bytes, taken);
    filled_ += taken;
    bytes += taken;
    size -= taken;
    if (filled_ < kBlockBytes) return;
    mix(block_);
    filled_ = 0;
  }
}

void Sha256::finish(uint8_t* digest) {
  // The padding: a 1 bit, zeros, and the number of bits in the last 8 bytes of a block.
  const uint64_t bits = total_ * 8;
  static constexpr uint8_t kPadding[kBlockBytes] = {0x80};
  update(kPadding, filled_ < 56 ? 56 - filled_ : 120 - filled_);
  uint8_t length[8];
  store_big_endian(static_cast<uint32_t>(bits >> 32), length);
  store_big_endian(static_cast<uint32_t>(bits), length + 4);
  update(length, sizeof(length));
  for (int i = 0; i < 8; ++i) store_big_endian(state_[i], digest + 4 * i);
}

}  // namespace rushlight
