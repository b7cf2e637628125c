#pragma once

#include <cstddef>
#include <cstdint>

namespace rushlight {

// Computes the SHA-256 digest of bytes that the caller passes in pieces. Source: FIPS 180-4.
class Sha256 final {
 public:
  static constexpr size_t kDigestBytes = 32;

  // Adds the next `size` bytes.
  void update(const void* data, size_t size);
  // Writes the 32-byte digest of all bytes. The object must not be used afterwards.
  void finish(uint8_t* digest);

 private:
  static constexpr size_t kBlockBytes = 64;
  void mix(const uint8_t* block);

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t block_[kBlockBytes] = {};
  size_t filled_ = 0;   // bytes in block_
  uint64_t total_ = 0;  // bytes so far
};

}  // namespace rushlight
