#pragma once

#include <cstddef>
#include <cstdint>

// Threads of the system, and the processes that fork() makes of one.
namespace rushlight {

// Counts forks, from 1. Threads and locks of an earlier generation belong to another process.
uint64_t process_generation();

class SystemThread {
 public:
  // Starts a thread that calls run(context). Returns false if the system has no more threads.
  bool start(void (*run)(void* context), void* context);
  // Waits for the end of the thread. Call it once for each thread that was started.
  void join();

 private:
  void (*run_)(void* context) = nullptr;
  void* context_ = nullptr;
  uintptr_t handle_ = 0;
};

}  // namespace rushlight
