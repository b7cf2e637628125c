#pragma once

#include <memory>
#include <mutex>

#include "rushlight/module/module.h"
#include "rushlight/threads/thread_pool.h"
#include "rushlight/trace/etdump.h"

namespace rushlight::python {

// The event trace of a program, with its memory. One method at a time records events.
struct Trace {
  Trace(size_t buffer_size, size_t debug_buffer_size, bool tracks_allocations)
      : buffer(new uint8_t[buffer_size]), debug(new uint8_t[debug_buffer_size]), tracer({buffer.get(), buffer_size}) {
    tracer.set_allocation_tracking(tracks_allocations);
    tracer.set_debug_buffer({debug.get(), debug_buffer_size});
    if (debug_buffer_size > 0) tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::IntermediateOutputs);
  }
  std::unique_ptr<uint8_t[]> buffer, debug;
  ETDumpGen tracer;
  std::mutex mutex;
};

// A program with the data and threads of its methods.
struct ProgramObject {
  std::shared_ptr<LoadedProgram> program;
  std::shared_ptr<LoadedData> data;        // null if the program contains all data
  std::shared_ptr<HostThreadPool> pool;    // null: one thread
  std::shared_ptr<Trace> trace = nullptr;  // null: no event trace
  Limits limits = {};                      // for each method
};

}  // namespace rushlight::python
