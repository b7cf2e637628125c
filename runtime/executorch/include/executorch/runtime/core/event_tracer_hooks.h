#pragma once

#include "executorch/runtime/core/event_tracer.h"

// Functions for runners and kernels. The tracer may be null.
namespace executorch {
namespace runtime {
namespace internal {

inline void event_tracer_create_event_block(EventTracer* event_tracer, const char* name) {
  if (event_tracer) event_tracer->create_event_block(name);
}
inline EventTracerEntry event_tracer_begin_profiling_event(EventTracer* event_tracer, const char* name) {
  return event_tracer ? event_tracer->start_profiling(name) : EventTracerEntry();
}
inline void event_tracer_end_profiling_event(EventTracer* event_tracer, EventTracerEntry event) {
  if (event_tracer) event_tracer->end_profiling(event);
}
inline AllocatorID event_tracer_track_allocator(EventTracer* event_tracer, const char* name) {
  return event_tracer ? event_tracer->track_allocator(name) : 0;
}
inline void event_tracer_track_allocation(EventTracer* event_tracer, AllocatorID id, size_t size) {
  if (event_tracer) event_tracer->track_allocation(id, size);
}
inline void event_tracer_log_evalue(EventTracer* event_tracer, const EValue& evalue) {
  if (event_tracer && event_tracer->event_tracer_debug_level() >= EventTracerDebugLogLevel::kIntermediateOutputs) {
    static_cast<void>(event_tracer->log_evalue(evalue, LoggedEValueType::kIntermediateOutput).ok());
  }
}
inline void event_tracer_log_evalue_output(EventTracer* event_tracer, const EValue& evalue) {
  if (event_tracer && event_tracer->event_tracer_debug_level() >= EventTracerDebugLogLevel::kProgramOutputs) {
    static_cast<void>(event_tracer->log_evalue(evalue, LoggedEValueType::kProgramOutput).ok());
  }
}
inline void event_tracer_set_bundled_input_index(EventTracer* event_tracer, int bundled_input_index) {
  if (event_tracer) event_tracer->set_bundled_input_index(bundled_input_index);
}

// Records an event from its creation to the end of its scope.
class EventTracerProfileScope final {
 public:
  EventTracerProfileScope(EventTracer* event_tracer, const char* name)
      : event_tracer_(event_tracer), entry_(event_tracer_begin_profiling_event(event_tracer, name)) {}
  ~EventTracerProfileScope() { event_tracer_end_profiling_event(event_tracer_, entry_); }

 private:
  EventTracer* event_tracer_;
  EventTracerEntry entry_;
};
using EventTracerProfileMethodScope = EventTracerProfileScope;
using EventTracerProfileOpScope = EventTracerProfileScope;

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
