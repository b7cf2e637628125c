#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "module/files.h"

namespace rushlight {
namespace {

size_t page_size() {
  static const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

void unmap(void*, void* data, size_t size) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(data);
  const size_t lead = address % page_size();
  ::munmap(reinterpret_cast<void*>(address - lead), size + lead);
}

// Reads the pages of `size` bytes at `offset` of a file; they begin `lead` bytes after `mapped`. Returns AccessFailed
// if the disk failed or the file became shorter. Without this check, a signal would end the process when it first reads
// the bytes. On systems that cannot report such errors, the function only starts to read ahead.
Error read_mapped(void* mapped, size_t lead, size_t size, [[maybe_unused]] size_t offset) {
#if defined(MADV_POPULATE_READ)
  int failed;
  do {
    failed = ::madvise(mapped, size + lead, MADV_POPULATE_READ) != 0 ? errno : 0;
  } while (failed == EINTR);
  RL_REQUIRE(failed != EFAULT && failed != EIO && failed != ENOMEM && failed != EHWPOISON, AccessFailed,
             "cannot read %zu bytes at offset %zu of a file: the file became shorter, or the disk failed", size,
             offset);
  if (failed == 0) return Error::Ok;  // Linux before 5.14 does not know MADV_POPULATE_READ
#endif
#if defined(MADV_WILLNEED)
  ::madvise(mapped, size + lead, MADV_WILLNEED);
#endif
  return Error::Ok;
}

}  // namespace

Result<FreeableBuffer> map_file(int file, size_t offset, size_t size, MlockConfig lock) {
  const size_t lead = offset % page_size();
  void* mapped = ::mmap(nullptr, size + lead, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file,
                        static_cast<off_t>(offset - lead));
  RL_REQUIRE(mapped != MAP_FAILED, AccessFailed, "cannot map %zu bytes at offset %zu of a file: %s", size, offset,
             std::strerror(errno));
  FreeableBuffer buffer(static_cast<uint8_t*>(mapped) + lead, size, unmap);
  RL_TRY(read_mapped(mapped, lead, size, offset));
  if (lock == MlockConfig::UseMlock || lock == MlockConfig::UseMlockIgnoreErrors) {
    const bool is_locked = ::mlock(mapped, size + lead) == 0;
    RL_REQUIRE(is_locked || lock == MlockConfig::UseMlockIgnoreErrors, NotSupported,
               "cannot keep %zu bytes of a file in memory: %s (raise the limit of locked memory, or use "
               "UseMlockIgnoreErrors)",
               size, std::strerror(errno));
  }
  return buffer;
}

}  // namespace rushlight
