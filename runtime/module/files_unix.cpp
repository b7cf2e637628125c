#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "module/files.h"

namespace rushlight {

Result<OpenFile> open_file(const char* path) {
  int file;
  do {
    file = ::open(path, O_RDONLY | O_CLOEXEC |
                            O_NONBLOCK);  // without O_NONBLOCK, open() waits if the file is a pipe without a writer
  } while (file < 0 && errno == EINTR);
  RL_REQUIRE(file >= 0, AccessFailed, "cannot open '%.300s': %s", path, std::strerror(errno));
  Result<OpenFile> opened = describe_file(file);
  if (opened.ok()) return opened;
  close_file(file);
  return fail(Error::AccessFailed, "'%.300s' is not a regular file", path);
}

Result<OpenFile> describe_file(int file) {
  struct stat status;
  RL_REQUIRE(::fstat(file, &status) == 0, AccessFailed, "descriptor %d is not open: %s", file, std::strerror(errno));
  RL_REQUIRE(S_ISREG(status.st_mode), AccessFailed, "descriptor %d does not refer to a regular file", file);
  return OpenFile{file, static_cast<size_t>(status.st_size)};
}

void close_file(int file) { ::close(file); }

Error read_range(int file, size_t offset, size_t size, void* buffer) {
  auto* out = static_cast<uint8_t*>(buffer);
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(file, out + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    RL_REQUIRE(count > 0, AccessFailed, "reading the file fails at byte %zu: %s", offset + done,
               count == 0 ? "the file became shorter" : std::strerror(errno));
    done += static_cast<size_t>(count);
  }
  return Error::Ok;
}

}  // namespace rushlight
