#include <windows.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "module/shared_object.h"

namespace rushlight {
namespace {

std::wstring wide(const char* text) {
  const int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, nullptr, 0);
  std::wstring result(static_cast<size_t>(size > 0 ? size - 1 : 0), L'\0');
  if (size > 1) MultiByteToWideChar(CP_UTF8, 0, text, -1, result.data(), size);
  return result;
}

}  // namespace

Result<std::string> resolve_path(const char* path) {
  wchar_t* const full = _wfullpath(nullptr, wide(path).c_str(), 0);
  const bool exists = full && GetFileAttributesW(full) != INVALID_FILE_ATTRIBUTES;
  std::string result;
  if (exists) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, full, -1, nullptr, 0, nullptr, nullptr);
    result.resize(static_cast<size_t>(size > 0 ? size - 1 : 0));
    WideCharToMultiByte(CP_UTF8, 0, full, -1, result.data(), size, nullptr, nullptr);
  }
  std::free(full);
  RL_REQUIRE(exists, AccessFailed, "cannot open '%.300s': %s", path, std::strerror(ENOENT));
  return result;
}

Result<void*> open_shared_object(const char* path) {
  const HMODULE library = LoadLibraryW(wide(path).c_str());
  RL_REQUIRE(library, AccessFailed, "cannot load '%.300s' (system error %lu)", path,
             static_cast<unsigned long>(GetLastError()));
  return static_cast<void*>(library);
}

void* find_in_shared_object(void* library, const char* symbol) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), symbol));
}

void close_shared_object(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

}  // namespace rushlight
