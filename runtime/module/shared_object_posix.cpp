#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "module/shared_object.h"

#if defined(__ELF__)

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace rushlight {
namespace {

struct File {
  int descriptor;
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
  bool read(void* target, size_t size, uint64_t offset) const {
    return ::pread(descriptor, target, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }
};

// Returns AccessFailed if the file cannot be read, is not a shared object, or is shorter than its segments.
Error check_shared_object(const char* path) {
  const File file{::open(path, O_RDONLY | O_CLOEXEC)};
  struct stat status;
  RL_REQUIRE(file.descriptor >= 0 && ::fstat(file.descriptor, &status) == 0, AccessFailed, "cannot open '%.300s': %s",
             path, std::strerror(errno));
  RL_REQUIRE(S_ISREG(status.st_mode), AccessFailed, "'%.300s' is not a regular file", path);
  const auto size = static_cast<uint64_t>(status.st_size);
  ElfW(Ehdr) header;
  RL_REQUIRE(file.read(&header, sizeof(header), 0) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                 header.e_type == ET_DYN && header.e_phentsize == sizeof(ElfW(Phdr)),
             AccessFailed, "'%.300s' is not a shared library", path);
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    RL_REQUIRE(file.read(&segment, sizeof(segment), header.e_phoff + i * sizeof(segment)) && segment.p_offset <= size &&
                   segment.p_filesz <= size - segment.p_offset,
               AccessFailed, "'%.300s' is truncated: segment %d ends after the end of the file", path, i);
  }
  return Error::Ok;
}

}  // namespace
}  // namespace rushlight

#else

namespace rushlight {
namespace {

Error check_shared_object(const char*) { return Error::Ok; }

}  // namespace
}  // namespace rushlight

#endif

namespace rushlight {

Result<std::string> resolve_path(const char* path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path, nullptr), &std::free);
  RL_REQUIRE(resolved, AccessFailed, "cannot open '%.300s': %s", path, std::strerror(errno));
  return std::string(resolved.get());
}

Result<void*> open_shared_object(const char* path) {
  RL_TRY(check_shared_object(path));
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = ::dlerror();
    return fail(Error::AccessFailed, "cannot load '%.200s': %.250s", path, reason ? reason : "unknown reason");
  }
  return library;
}

void* find_in_shared_object(void* library, const char* symbol) { return ::dlsym(library, symbol); }

void close_shared_object(void* library) { ::dlclose(library); }

}  // namespace rushlight
