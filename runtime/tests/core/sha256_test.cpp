#include "core/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace rushlight {
namespace {

std::string hex(const uint8_t* bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < Sha256::kDigestBytes; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// Returns the digest of a text that is passed in pieces of `piece` bytes.
std::string digest_of(const std::string& text, size_t piece = 1000000) {
  Sha256 hash;
  for (size_t at = 0; at < text.size(); at += piece) {
    const size_t left = text.size() - at;
    hash.update(text.data() + at, left < piece ? left : piece);
  }
  uint8_t digest[Sha256::kDigestBytes];
  hash.finish(digest);
  return hex(digest);
}

// The examples of FIPS 180-4.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnySize) {
  const std::string text(200, 'x');
  for (size_t size : {0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 200}) {
    const std::string whole = digest_of(text.substr(0, size));
    for (size_t piece : {1, 7, 63, 64, 65}) EXPECT_EQ(digest_of(text.substr(0, size), piece), whole) << size;
  }
}

}  // namespace
}  // namespace rushlight
