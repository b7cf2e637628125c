// The functions of the C library that compilers call, for builds without a C library. At aligned addresses, they
// copy and set blocks of four words, then words, and then bytes.
#include <cstddef>
#include <cstdint>

namespace {

using Word = uint32_t __attribute__((may_alias));
constexpr size_t kBlock = 4 * sizeof(Word);

bool is_aligned(uintptr_t address) { return address % sizeof(Word) == 0; }

}  // namespace

extern "C" {

__attribute__((weak, optimize("no-tree-loop-distribute-patterns"))) void* memcpy(void* to, const void* from,
                                                                                 size_t size) {
  auto* target = static_cast<uint8_t*>(to);
  const auto* source = static_cast<const uint8_t*>(from);
  if (is_aligned(reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from))) {
    for (; size >= kBlock; size -= kBlock, target += kBlock, source += kBlock) {
      // Single words, because compilers call memcpy() to copy structures.
      const auto* const from_words = reinterpret_cast<const Word*>(source);
      auto* const to_words = reinterpret_cast<Word*>(target);
      const Word a = from_words[0], b = from_words[1], c = from_words[2], d = from_words[3];
      to_words[0] = a, to_words[1] = b, to_words[2] = c, to_words[3] = d;
    }
    for (; size >= sizeof(Word); size -= sizeof(Word), target += sizeof(Word), source += sizeof(Word)) {
      *reinterpret_cast<Word*>(target) = *reinterpret_cast<const Word*>(source);
    }
  }
  while (size-- > 0) *target++ = *source++;
  return to;
}

__attribute__((weak, optimize("no-tree-loop-distribute-patterns"))) void* memmove(void* to, const void* from,
                                                                                  size_t size) {
  auto* target = static_cast<uint8_t*>(to);
  const auto* source = static_cast<const uint8_t*>(from);
  if (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from) >= size) return memcpy(to, from, size);
  for (size_t i = size; i-- > 0;) target[i] = source[i];
  return to;
}

__attribute__((weak, optimize("no-tree-loop-distribute-patterns"))) void* memset(void* to, int value, size_t size) {
  auto* target = static_cast<uint8_t*>(to);
  if (is_aligned(reinterpret_cast<uintptr_t>(to))) {
    const uint32_t word = static_cast<uint8_t>(value) * 0x01010101u;
    for (; size >= kBlock; size -= kBlock, target += kBlock) {
      auto* const words = reinterpret_cast<Word*>(target);
      words[0] = word, words[1] = word, words[2] = word, words[3] = word;
    }
    for (; size >= sizeof(Word); size -= sizeof(Word), target += sizeof(Word)) *reinterpret_cast<Word*>(target) = word;
  }
  while (size-- > 0) *target++ = static_cast<uint8_t>(value);
  return to;
}

__attribute__((weak)) int memcmp(const void* a, const void* b, size_t size) {
  const auto *left = static_cast<const uint8_t*>(a), *right = static_cast<const uint8_t*>(b);
  for (size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

__attribute__((weak)) void* memchr(const void* text, int value, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(text);
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] == static_cast<uint8_t>(value)) return const_cast<uint8_t*>(bytes + i);
  }
  return nullptr;
}

__attribute__((weak)) char* strchr(const char* text, int value) {
  for (; *text != static_cast<char>(value); ++text) {
    if (*text == '\0') return nullptr;
  }
  return const_cast<char*>(text);
}

__attribute__((weak, optimize("no-tree-loop-distribute-patterns"))) size_t strlen(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

__attribute__((weak)) int strcmp(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a, ++b) {
  }
  return static_cast<int>(static_cast<uint8_t>(*a)) - static_cast<int>(static_cast<uint8_t>(*b));
}
}
