#pragma once

#include <type_traits>

#include "executorch/runtime/core/event_tracer.h"

// Functions for backends. The tracer may be null.
namespace executorch {
namespace runtime {

inline EventTracerEntry event_tracer_start_profiling_delegate(EventTracer* event_tracer, const char* name,
                                                              DelegateDebugIntId delegate_debug_id) {
  return event_tracer ? event_tracer->start_profiling_delegate(name, delegate_debug_id) : EventTracerEntry();
}
inline void event_tracer_end_profiling_delegate(EventTracer* event_tracer, EventTracerEntry event_tracer_entry,
                                                const void* metadata = nullptr, size_t metadata_len = 0) {
  if (event_tracer) event_tracer->end_profiling_delegate(event_tracer_entry, metadata, metadata_len);
}
inline void event_tracer_log_profiling_delegate(EventTracer* event_tracer, const char* name,
                                                DelegateDebugIntId delegate_debug_id, et_timestamp_t start_time,
                                                et_timestamp_t end_time, const void* metadata = nullptr,
                                                size_t metadata_len = 0) {
  if (!event_tracer) return;
  event_tracer->log_profiling_delegate(name, delegate_debug_id, start_time, end_time, metadata, metadata_len);
}
template <typename T>
void event_tracer_log_output_delegate(EventTracer* event_tracer, const char* name, DelegateDebugIntId delegate_debug_id,
                                      const T& output) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, bool> || std::is_same_v<T, double> ||
                    std::is_same_v<T, aten::Tensor> || std::is_same_v<T, ArrayRef<aten::Tensor>>,
                "an output is an int, bool, double, tensor or list of tensors");
  if (event_tracer)
    static_cast<void>(event_tracer->log_intermediate_output_delegate(name, delegate_debug_id, output).ok());
}

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::event_tracer_end_profiling_delegate;
using ::executorch::runtime::event_tracer_log_output_delegate;
using ::executorch::runtime::event_tracer_log_profiling_delegate;
using ::executorch::runtime::event_tracer_start_profiling_delegate;
}  // namespace executor
}  // namespace torch
