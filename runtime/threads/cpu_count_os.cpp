#include <cstdio>
#include <thread>

#include "rushlight/threads/thread_pool.h"
#include "threads/wanted_threads.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace rushlight {
namespace {

#if defined(__linux__)

// Returns the first number in a file, or `fallback`.
long read_number(const char* path, long fallback) {
  std::FILE* file = std::fopen(path, "r");
  if (!file) return fallback;
  long value = fallback;
  if (std::fscanf(file, "%ld", &value) != 1) value = fallback;
  std::fclose(file);
  return value;
}

// Counts the CPUs of the affinity mask; CPUs that share a core count once.
size_t usable_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 0;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    char path[96];
    std::snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    const long core = read_number(path, cpu);
    CPU_SET(core >= 0 && core < CPU_SETSIZE ? static_cast<int>(core) : cpu, &cores);
  }
  return static_cast<size_t>(CPU_COUNT(&cores));
}

// Returns the CPU quota of the control group, rounded up to whole CPUs, or 0 if there is no limit.
size_t granted_cpus() {
  std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r");
  if (!file) return 0;
  long quota = 0;
  long period = 0;
  const int read = std::fscanf(file, "%ld %ld", &quota, &period);
  std::fclose(file);
  return read == 2 && quota > 0 && period > 0 ? static_cast<size_t>((quota + period - 1) / period) : 0;
}

size_t available_cpus() {
  const size_t cores = usable_cores();
  const size_t granted = granted_cpus();
  return granted > 0 && granted < cores ? granted : cores;
}

#else

size_t available_cpus() { return std::thread::hardware_concurrency(); }

#endif

}  // namespace

size_t default_thread_count() {
  if (const size_t wanted = wanted_threads()) return wanted;
  const size_t cpus = available_cpus();
  return cpus > 0 ? cpus : 1;
}

}  // namespace rushlight
