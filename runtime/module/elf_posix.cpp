#include "module/elf.h"

#if defined(__ELF__)

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

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

}  // namespace

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

}  // namespace rushlight

#else

namespace rushlight {

Error check_shared_object(const char*) { return Error::Ok; }

}  // namespace rushlight

#endif
