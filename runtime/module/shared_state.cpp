#include <cstring>

#include "rushlight/module/module.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

constexpr char kKey[] = "rushlight.shared_memory";  // uint32 each, little-endian: numbers of planned memories, from 1
constexpr size_t kAlignment = 64;

}  // namespace

LoadedProgram::State::~State() {
  for (const auto& [memory, arena] : arenas_) {
    if (arena.data()) platform::release(arena.data());
  }
}

Error LoadedProgram::State::read(const Program& program) {
  if (!program.has_named_data(kKey)) return Error::Ok;
  RL_ASSIGN(FreeableBuffer data, program.load_named_data(kKey));
  RL_REQUIRE(data.size() % sizeof(uint32_t) == 0, InvalidProgram, "the list of shared memories has %zu bytes",
             data.size());
  for (size_t i = 0; i < data.size(); i += sizeof(uint32_t)) {
    uint32_t number;
    std::memcpy(&number, static_cast<const uint8_t*>(data.data()) + i, sizeof(number));
    RL_REQUIRE(number > 0, InvalidProgram, "the list of shared memories contains the number 0; the first number is 1");
    arenas_[number - 1] = {};
  }
  return Error::Ok;
}

bool LoadedProgram::State::shares(size_t memory) const { return arenas_.count(memory) != 0; }

Result<Span<uint8_t>> LoadedProgram::State::arena(size_t memory, size_t size) {
  const platform::Lock lock(mutex_);
  Span<uint8_t>& arena = arenas_[memory];
  if (!arena.data()) {
    void* bytes = platform::allocate(size, kAlignment);
    RL_REQUIRE(bytes, MemoryAllocationFailed, "no memory for the %zu bytes of shared memory %zu", size, memory + 1);
    std::memset(bytes, 0, size);
    arena = {static_cast<uint8_t*>(bytes), size};
  }
  RL_REQUIRE(arena.size() >= size, InvalidProgram, "shared memory %zu has %zu bytes in one method and %zu in another",
             memory + 1, arena.size(), size);
  return arena;
}

bool LoadedProgram::State::holds(size_t memory, size_t offset) {
  if (!shares(memory)) return false;
  const platform::Lock lock(mutex_);
  return !held_.emplace(memory, offset).second;
}

}  // namespace rushlight
