#pragma once

#include <cstdint>

// The macros of ExecuTorch's first profiler. ETDumps have replaced it (devtools/etdump/etdump_flatcc.h). The macros
// record nothing, as in a build of ExecuTorch without PROFILING_ENABLED.
#if defined(PROFILING_ENABLED)
#error "PROFILING_ENABLED is not available: record an ETDump instead, with devtools/etdump/etdump_flatcc.h"
#endif
#define EXECUTORCH_PROFILE_CREATE_BLOCK(name) ((void)(name))
#define EXECUTORCH_BEGIN_PROF(name) \
  {                                 \
  }
#define EXECUTORCH_END_PROF(token_id) ((void)(token_id))
#define EXECUTORCH_SCOPE_PROF(name) ((void)(name))
#define EXECUTORCH_PROFILE_INSTRUCTION_SCOPE(chain_idx, instruction_idx) ((void)(chain_idx), (void)(instruction_idx))
#define EXECUTORCH_RESET_PROFILE_RESULTS() \
  {                                        \
  }
#define EXECUTORCH_TRACK_ALLOCATOR(name) ((void)(name), -1)
#define EXECUTORCH_TRACK_ALLOCATION(id, size) ((void)(id), (void)(size))
