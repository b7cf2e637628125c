// Mutates files of the project's formats at the level of their schemas: numbers, enums, lengths of vectors, and targets
// of offsets. Most mutated files pass the checks of offsets and reach the checks after them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flatbuffer.h"

namespace rushlight::fuzz {

enum class Format { Program, DataFile, BundledProgram, EtDump, CpuPlan, XnnpackPayload };
inline constexpr int kNumFormats = 6;

// The random number generator splitmix64. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  // Returns a number below `limit`, which must not be 0.
  size_t below(size_t limit) { return static_cast<size_t>(next() % limit); }
  bool one_in(size_t count) { return below(count) == 0; }

 private:
  uint64_t state_;
};

using Bytes = std::vector<uint8_t>;

// Makes one to four changes of a file. If the bytes are not a file of the format, changes random bytes.
void mutate_file(Format format, Bytes& file, Random& random);

// Makes one change of flatbuffer tables, which may grow. Returns false if there is nothing to change.
bool mutate_tables(const flatbuffer::Schema& schema, Bytes& tables, Random& random);

// Changes random bits, bytes and words within [begin, end).
void mutate_bytes(Bytes& bytes, size_t begin, size_t end, Random& random);

// Returns a changed number of `size` bytes: a number near `old`, a limit of a type, or a random number.
uint64_t mutate_number(uint64_t old, size_t size, Random& random);

// Appends `data` as a vector of bytes, and sets the offset at `offset_at` to this vector.
void append_vector(Bytes& tables, size_t offset_at, const Bytes& data);

}  // namespace rushlight::fuzz
