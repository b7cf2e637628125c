#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "module/files.h"

namespace rushlight {
namespace {

// Converts a UTF-8 path to UTF-16. All paths of this API are UTF-8.
std::wstring wide(const char* path) {
  const int size = MultiByteToWideChar(CP_UTF8, 0, path, -1, nullptr, 0);
  std::wstring text(static_cast<size_t>(size > 0 ? size - 1 : 0), L'\0');
  if (size > 1) MultiByteToWideChar(CP_UTF8, 0, path, -1, text.data(), size);
  return text;
}

HANDLE handle_of(int file) { return reinterpret_cast<HANDLE>(_get_osfhandle(file)); }

size_t granularity() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwAllocationGranularity;
}

void unmap(void* lead, void* data, size_t) {
  UnmapViewOfFile(static_cast<uint8_t*>(data) - reinterpret_cast<uintptr_t>(lead));
}

}  // namespace

Result<OpenFile> open_file(const char* path) {
  const int file = _wopen(wide(path).c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT);
  RL_REQUIRE(file >= 0, AccessFailed, "cannot open '%.300s': %s", path, std::strerror(errno));
  Result<OpenFile> opened = describe_file(file);
  if (opened.ok()) return opened;
  close_file(file);
  return fail(Error::AccessFailed, "'%.300s' is not a regular file", path);
}

Result<OpenFile> describe_file(int file) {
  struct _stat64 status;
  RL_REQUIRE(_fstat64(file, &status) == 0, AccessFailed, "descriptor %d is not open: %s", file, std::strerror(errno));
  RL_REQUIRE((status.st_mode & _S_IFMT) == _S_IFREG, AccessFailed, "descriptor %d does not refer to a regular file",
             file);
  return OpenFile{file, static_cast<size_t>(status.st_size)};
}

void close_file(int file) { _close(file); }

Error read_range(int file, size_t offset, size_t size, void* buffer) {
  constexpr size_t kMax = size_t{1} << 30;  // bytes per call
  auto* out = static_cast<uint8_t*>(buffer);
  size_t done = 0;
  while (done < size) {
    const uint64_t at = offset + done;
    OVERLAPPED place = {};
    place.Offset = static_cast<DWORD>(at);
    place.OffsetHigh = static_cast<DWORD>(at >> 32);
    DWORD count = 0;
    const auto wanted = static_cast<DWORD>(std::min(size - done, kMax));
    const bool is_read = ReadFile(handle_of(file), out + done, wanted, &count, &place) != 0;
    RL_REQUIRE(is_read && count > 0, AccessFailed, "reading the file fails at byte %zu (system error %lu)",
               offset + done, static_cast<unsigned long>(GetLastError()));
    done += count;
  }
  return Error::Ok;
}

Result<FreeableBuffer> map_file(int file, size_t offset, size_t size, MlockConfig lock) {
  static const size_t step = granularity();
  const size_t lead = offset % step;
  const HANDLE mapping = CreateFileMappingW(handle_of(file), nullptr, PAGE_WRITECOPY, 0, 0, nullptr);
  const uint64_t start = offset - lead;
  void* const mapped = mapping ? MapViewOfFile(mapping, FILE_MAP_COPY, static_cast<DWORD>(start >> 32),
                                               static_cast<DWORD>(start), size + lead)
                               : nullptr;
  const auto reason = static_cast<unsigned long>(GetLastError());
  if (mapping) CloseHandle(mapping);  // the view keeps the mapping alive
  RL_REQUIRE(mapped, AccessFailed, "cannot map %zu bytes at offset %zu of a file (system error %lu)", size, offset,
             reason);
  FreeableBuffer buffer(static_cast<uint8_t*>(mapped) + lead, size, unmap, reinterpret_cast<void*>(lead));
  if (lock == MlockConfig::UseMlock || lock == MlockConfig::UseMlockIgnoreErrors) {
    const bool is_locked = VirtualLock(mapped, size + lead) != 0;
    RL_REQUIRE(is_locked || lock == MlockConfig::UseMlockIgnoreErrors, NotSupported,
               "cannot keep %zu bytes of a file in memory (system error %lu); use UseMlockIgnoreErrors", size,
               static_cast<unsigned long>(GetLastError()));
  }
  return buffer;
}

}  // namespace rushlight
