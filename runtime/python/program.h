#pragma once

#include <memory>

#include "rushlight/module/module.h"
#include "rushlight/threads/thread_pool.h"

namespace rushlight::python {

// A program with the data and threads of its methods.
struct ProgramObject {
  std::shared_ptr<LoadedProgram> program;
  std::shared_ptr<LoadedData> data;      // null if all is in the program
  std::shared_ptr<HostThreadPool> pool;  // null: one thread
};

}  // namespace rushlight::python
