#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "module/shared_object.h"
#include "rushlight/core/library.h"
#include "rushlight/module/library.h"
#include "rushlight/platform/mutex.h"

namespace rushlight {
namespace {

constexpr char kSymbol[] = "rushlight_library";
constexpr size_t kMaxRows = 1 << 16;

// The loaded libraries. They are never freed, because methods use their rows.
struct Registry {
  platform::Mutex mutex;
  std::vector<std::unique_ptr<LoadedLibrary>> libraries;
};

Registry& registry() {
  static auto& instance = *new Registry();
  return instance;
}

struct Handle {
  void* library = nullptr;
  ~Handle() {
    if (library) close_shared_object(library);
  }
  void* keep() { return std::exchange(library, nullptr); }
};

std::string_view name_of(const Kernel& row) { return row.name; }
std::string_view name_of(const Backend& row) { return row.id; }

Error check_kernel(const char* path, size_t index, const Kernel& row) {
  RL_REQUIRE(row.name && std::strstr(row.name, "::"), InvalidArgument,
             "row %zu of '%.200s' has no name of the form library::operator.overload", index, path);
  const BoxedKernel& boxed = row.boxed;
  RL_REQUIRE(boxed.call && (boxed.kinds || boxed.arity == 0), InvalidArgument,
             "row %zu (%.100s) of '%.200s' has no kernel: set the member `boxed` to boxed<&function>", index, row.name,
             path);
  for (uint16_t i = 0; i < boxed.arity; ++i) {
    RL_REQUIRE(boxed.kinds[i] <= ArgKind::OutTensorList, InvalidArgument,
               "argument %d of row %zu (%.100s) of '%.200s' has an unknown type", i, index, row.name, path);
  }
  return Error::Ok;
}

Error check_backend(const char* path, size_t index, const Backend& row) {
  RL_REQUIRE(row.id && row.id[0] && row.backend, InvalidArgument, "backend %zu of '%.200s' has no id or no object",
             index, path);
  return Error::Ok;
}

template <typename Row>
Error check_unique(const LoadedLibrary& added, const std::vector<Row>& rows, const std::vector<Row>& others,
                   const std::string& other_path) {
  for (const Row& row : rows) {
    for (const Row& other : others) {
      RL_REQUIRE(&row == &other || name_of(row) != name_of(other), InvalidArgument,
                 "'%.160s' defines %.100s, which '%.160s' already defines", added.path.c_str(), name_of(row).data(),
                 other_path.c_str());
    }
  }
  return Error::Ok;
}

Result<const Library*> find_table(void* library, const char* path) {
  const auto* table = static_cast<const Library*>(find_in_shared_object(library, kSymbol));
  RL_REQUIRE(
      table && std::memcmp(table->magic, kLibraryMagic, sizeof(kLibraryMagic)) == 0, NotSupported,
      "'%.300s' is a shared library, but not a library of kernels or backends: it has no table `%s` (define the table "
      "with RUSHLIGHT_LIBRARY and build the library with rushlight_add_library)",
      path, kSymbol);
  RL_REQUIRE(table->abi == library_abi() && table->size == sizeof(Library), NotSupported,
             "'%.300s' was built with the headers of another version of Rushlight (ABI %016llx, not %016llx): build it "
             "again with the headers of this version",
             path, static_cast<unsigned long long>(table->abi), static_cast<unsigned long long>(library_abi()));
  RL_REQUIRE(table->name && table->connect && table->num_kernels <= kMaxRows && table->num_backends <= kMaxRows &&
                 (table->kernels || !table->num_kernels) && (table->backends || !table->num_backends),
             InvalidArgument, "the table of '%.300s' is incomplete", path);
  return table;
}

Result<std::unique_ptr<LoadedLibrary>> read_library(const Library& table, const char* path) {
  auto library = std::make_unique<LoadedLibrary>();
  library->name = table.name;
  library->path = path;
  for (size_t i = 0; i < table.num_kernels; ++i) {
    RL_TRY(check_kernel(path, i, table.kernels[i]));
    library->rows.push_back(table.kernels[i]);
  }
  for (size_t i = 0; i < table.num_backends; ++i) {
    RL_TRY(check_backend(path, i, table.backends[i]));
    library->backends.push_back(table.backends[i]);
  }
  std::sort(library->rows.begin(), library->rows.end(),
            [](const Kernel& a, const Kernel& b) { return name_of(a) < name_of(b); });
  RL_TRY(check_unique(*library, library->rows, library->rows, library->path));
  RL_TRY(check_unique(*library, library->backends, library->backends, library->path));
  for (const auto& other : registry().libraries) {
    RL_TRY(check_unique(*library, library->rows, other->rows, other->path));
    RL_TRY(check_unique(*library, library->backends, other->backends, other->path));
  }
  return library;
}

}  // namespace

Result<const LoadedLibrary*> load_library(const char* path) {
  RL_ASSIGN(const std::string resolved, resolve_path(path));
  const platform::Lock lock(registry().mutex);
  for (const auto& library : registry().libraries) {
    if (library->path == resolved) return static_cast<const LoadedLibrary*>(library.get());
  }
  Handle handle;
  RL_ASSIGN(handle.library, open_shared_object(resolved.c_str()));
  RL_ASSIGN(const Library* table, find_table(handle.library, resolved.c_str()));
  RL_ASSIGN(auto library, read_library(*table, resolved.c_str()));
  table->connect(&library_host());
  handle.keep();
  registry().libraries.push_back(std::move(library));
  return static_cast<const LoadedLibrary*>(registry().libraries.back().get());
}

std::vector<const LoadedLibrary*> loaded_libraries() {
  const platform::Lock lock(registry().mutex);
  std::vector<const LoadedLibrary*> libraries;
  for (const auto& library : registry().libraries) libraries.push_back(library.get());
  return libraries;
}

}  // namespace rushlight
