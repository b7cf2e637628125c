// The defaults for systems with an operating system: the steady clock of the C++ library, and stderr.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "platform/format.h"
#include "rushlight/platform/platform.h"

namespace rushlight::platform {
namespace {

// Returns the lowest level that is written: the value of RUSHLIGHT_LOG (debug, info, warning or error), or warning.
LogLevel threshold() {
  const char* level = std::getenv("RUSHLIGHT_LOG");
  if (!level) return LogLevel::Warning;
  switch (level[0]) {
    case 'd':
      return LogLevel::Debug;
    case 'i':
      return LogLevel::Info;
    case 'e':
      return LogLevel::Error;
    default:
      return LogLevel::Warning;
  }
}

}  // namespace
}  // namespace rushlight::platform

using rushlight::platform::LogLevel;

extern "C" {

__attribute__((weak)) uint64_t rushlight_now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

__attribute__((weak)) void rushlight_log(int level, const char* message) {
  static const LogLevel least = rushlight::platform::threshold();
  if (level < static_cast<int>(least)) return;
  static const char* const names[] = {"debug", "info", "warning", "error"};
  char line[1200];
  rushlight::format_text(line, sizeof line, "rushlight %s: %s\n", names[level], message);
  std::fputs(line, stderr);
}

__attribute__((weak)) void rushlight_panic(const char* message) {
  rushlight::platform::log(LogLevel::Error, "%s", message);
  std::abort();
}
}
