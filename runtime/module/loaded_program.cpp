#include <cstdint>
#include <cstring>
#include <utility>

#include "rushlight/module/file_loader.h"
#include "rushlight/module/module.h"
#include "rushlight/platform/platform.h"
#include "rushlight/program/buffer_loader.h"

namespace rushlight {
namespace {

constexpr size_t kRequiredAlignment = 16;
// Constants lie at multiples of 64 bytes in a file. If vectors of 32 or 64 bytes cross cache lines, an LSTM takes half
// as long again.
#if defined(__x86_64__) || defined(_M_X64)
constexpr size_t kAlignment = 64;
#else
constexpr size_t kAlignment = kRequiredAlignment;
#endif

// Inserts `prefix` at the beginning of the last error message.
Error named(const char* prefix, Error code) { return fail(code, "%.200s: %s", prefix, last_error_message()); }

// Replaces bytes that are not aligned by a copy, which `owner` then owns.
Error align(const void*& data, size_t size, std::shared_ptr<void>& owner) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(data);
  if (address % kAlignment == 0) return Error::Ok;
  std::shared_ptr<void> copy(platform::allocate(size, kAlignment), platform::release);
  if (copy == nullptr && address % kRequiredAlignment == 0) return Error::Ok;
  RL_REQUIRE(copy, MemoryAllocationFailed, "no memory to copy the %zu bytes of a file", size);
  std::memcpy(copy.get(), data, size);
  data = copy.get();
  owner = std::move(copy);
  return Error::Ok;
}

}  // namespace

// The loader, which may be `buffer`, and the owner of the loader or of the bytes that it reads.
struct LoadedProgram::Source {
  DataLoader* loader = nullptr;
  BufferDataLoader buffer{nullptr, 0};
  std::shared_ptr<void> keep_alive;

  template <typename Loader>
  void take(std::unique_ptr<Loader> own) {
    loader = own.get();
    keep_alive = std::shared_ptr<Loader>(std::move(own));
  }
};

LoadedProgram::~LoadedProgram() = default;

Result<std::shared_ptr<LoadedProgram>> LoadedProgram::load(std::unique_ptr<Source> source) {
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram());
  loaded->source_ = std::move(source);
  RL_ASSIGN(Program program, Program::load(loaded->source_->loader));
  loaded->program_ = std::make_unique<Program>(std::move(program));
  RL_TRY(loaded->state_.read(*loaded->program_));
  return loaded;
}

Result<std::shared_ptr<LoadedProgram>> LoadedProgram::from_file(const char* path, Mode mode) {
  auto source = std::make_unique<Source>();
  if (mode == Mode::File) {
    RL_ASSIGN(auto file, FileDataLoader::open(path));
    source->take(std::move(file));
  } else {
    const MlockConfig lock = mode == Mode::MmapUseMlock               ? MlockConfig::UseMlock
                             : mode == Mode::MmapUseMlockIgnoreErrors ? MlockConfig::UseMlockIgnoreErrors
                                                                      : MlockConfig::NoMlock;
    RL_ASSIGN(auto map, MmapDataLoader::open(path, lock));
    source->take(std::move(map));
  }
  auto loaded = load(std::move(source));
  if (!loaded.ok()) return named(path, loaded.error());
  return loaded;
}

Result<std::shared_ptr<LoadedProgram>> LoadedProgram::from_buffer(const void* data, size_t size,
                                                                  std::shared_ptr<void> keep_alive) {
  auto source = std::make_unique<Source>();
  RL_TRY(align(data, size, keep_alive));
  source->keep_alive = std::move(keep_alive);
  source->buffer = BufferDataLoader(data, size);
  source->loader = &source->buffer;
  return load(std::move(source));
}

Result<std::shared_ptr<LoadedProgram>> LoadedProgram::from_loader(DataLoader* loader,
                                                                  std::shared_ptr<void> keep_alive) {
  auto source = std::make_unique<Source>();
  source->loader = loader;
  source->keep_alive = std::move(keep_alive);
  return load(std::move(source));
}

struct LoadedData::File {
  std::unique_ptr<MmapDataLoader> loader;
  std::unique_ptr<BufferDataLoader> buffer;
  std::shared_ptr<void> keep_alive;
  std::unique_ptr<DataFile> map;
};

LoadedData::~LoadedData() = default;

Result<std::shared_ptr<LoadedData>> LoadedData::from_files(Span<const char* const> paths) {
  std::shared_ptr<LoadedData> loaded(new LoadedData());
  for (const char* path : paths) {
    auto file = std::make_unique<File>();
    RL_ASSIGN(file->loader, MmapDataLoader::open(path));
    auto map = DataFile::load(file->loader.get());
    if (!map.ok()) return named(path, map.error());
    file->map = std::make_unique<DataFile>(std::move(*map));
    loaded->files_.push_back(std::move(file));
  }
  return loaded;
}

Result<std::shared_ptr<LoadedData>> LoadedData::from_buffer(const void* data, size_t size,
                                                            std::shared_ptr<void> keep_alive) {
  std::shared_ptr<LoadedData> loaded(new LoadedData());
  auto file = std::make_unique<File>();
  RL_TRY(align(data, size, keep_alive));
  file->buffer = std::make_unique<BufferDataLoader>(data, size);
  file->keep_alive = std::move(keep_alive);
  RL_ASSIGN(DataFile map, DataFile::load(file->buffer.get()));
  file->map = std::make_unique<DataFile>(std::move(map));
  loaded->files_.push_back(std::move(file));
  return loaded;
}

const NamedDataMap* LoadedData::find(std::string_view key) const {
  for (const auto& file : files_) {
    if (file->map->has(key)) return file->map.get();
  }
  fail(Error::NotFound, "none of the given data files (.ptd) has an entry named '%.*s'", static_cast<int>(key.size()),
       key.data());
  return nullptr;
}

Result<TensorLayout> LoadedData::tensor_layout(std::string_view key) const {
  const NamedDataMap* map = find(key);
  return map ? map->tensor_layout(key) : Error::NotFound;
}

Result<FreeableBuffer> LoadedData::data(std::string_view key) const {
  const NamedDataMap* map = find(key);
  return map ? map->data(key) : Error::NotFound;
}

Error LoadedData::load_into(std::string_view key, void* buffer, size_t size) const {
  const NamedDataMap* map = find(key);
  return map ? map->load_into(key, buffer, size) : Error::NotFound;
}

uint32_t LoadedData::size() const {
  uint32_t total = 0;
  for (const auto& file : files_) total += file->map->size();
  return total;
}

const char* LoadedData::key(uint32_t index) const {
  for (const auto& file : files_) {
    if (index < file->map->size()) return file->map->key(index);
    index -= file->map->size();
  }
  return "";
}

}  // namespace rushlight
