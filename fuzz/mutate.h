// Changes files of the project's formats at the level of their schemas: numbers, enums, lengths of vectors, and which
// object an offset leads to. Most changed files pass the checks of offsets, and reach what comes after them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flatbuffer.h"

namespace rushlight::fuzz {

enum class Format { Program, DataFile, BundledProgram, EtDump, CpuPlan, XnnpackPayload };
inline constexpr int kNumFormats = 6;

// Numbers of splitmix64. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
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

// Makes one to four changes of a file. Bytes that are no file of the format are changed at random.
void mutate_file(Format format, Bytes& file, Random& random);

// Makes one change of flatbuffer tables, which may grow. Returns false if they have nothing to change.
bool mutate_tables(const flatbuffer::Schema& schema, Bytes& tables, Random& random);

// Changes bits, bytes and words within [begin, end), wherever they are.
void mutate_bytes(Bytes& bytes, size_t begin, size_t end, Random& random);

// Returns `old`, a number of `size` bytes, changed: to a near one, a limit of a type, or a random one.
uint64_t mutate_number(uint64_t old, size_t size, Random& random);

// Appends `data` as a vector of bytes, and lets the vector field at `offset_at` lead to it.
void append_vector(Bytes& tables, size_t offset_at, const Bytes& data);

}  // namespace rushlight::fuzz
