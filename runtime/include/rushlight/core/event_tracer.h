#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/evalue.h"
#include "rushlight/core/span.h"

namespace rushlight {

// Whether the runtime was built with event tracing. In a build without it, loading a method with a tracer fails.
#ifdef RUSHLIGHT_NO_TRACING
inline constexpr bool kHasTracing = false;
#else
inline constexpr bool kHasTracing = true;
#endif

// The kind of an event.
enum class EventKind : uint8_t { Load, Init, Method, Kernel, Delegate, Move, Jump, Free, DelegateOperator };

// The place of an event in a method. An operator inside a delegate has a number or a name: a key of the debug handle
// map that the backend made when it compiled the delegate.
struct EventId {
  EventKind kind = EventKind::Method;
  int32_t chain = -1;                         // index of the chain, -1: none
  int32_t instruction = -1;                   // index in the chain, -1: none
  int64_t delegate_debug_id = -1;             // -1: none
  std::string_view delegate_debug_name = {};  // empty: none
};

// A started event. `name` stays valid until the end of the event.
struct EventTracerEntry {
  EventId id;
  std::string_view name;
  uint64_t start_ns = 0;
  uint64_t token = 0;  // for use by the tracer only
};

// The number of an allocator, 0: none.
using AllocatorId = uint32_t;

// The name of the allocator for the scratch memory of kernels and backends. Each of its events contains the number of
// bytes that one instruction, or one operator inside a delegate, allocated.
inline constexpr std::string_view kTemporaryAllocator = "temporary";

enum class LoggedEValueType : uint8_t { IntermediateOutput, ProgramOutput };

// Which values are recorded.
enum class EventTracerDebugLogLevel : uint8_t { NoLogging, ProgramOutputs, IntermediateOutputs };

// Which events are recorded: events of whole methods only, or all events.
enum class EventTracerProfilingLevel : uint8_t { ProfileMethodOnly, ProfileAllEvents };

// Receives the events of a method while it is loaded and executed. One thread uses a tracer at a time. Unless a comment
// states otherwise, a view in an argument is valid during the call only.
class EventTracer {
 public:
  // Starts a block of events: one load or one execution. The events after it belong to the block.
  virtual void create_event_block(std::string_view name) = 0;
  // Starts an event.
  virtual EventTracerEntry start_profiling(const EventId& id, std::string_view name) = 0;
  // Ends an event. `metadata` is for operators inside delegates: bytes in a format that the backend chooses.
  virtual void end_profiling(const EventTracerEntry& entry, Span<const uint8_t> metadata = {}) = 0;
  // Records an event inside a delegate whose times are known afterwards, in nanoseconds of a clock that the backend
  // chooses.
  virtual void log_profiling_delegate(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns,
                                      Span<const uint8_t> metadata = {}) = 0;
  // Returns the number of the allocator with this name.
  virtual AllocatorId track_allocator(std::string_view name) = 0;
  virtual void track_allocation(AllocatorId allocator, size_t size) = 0;
  // Records a value: an output of an instruction, of an operator inside a delegate, or of the method. The caller checks
  // event_tracer_debug_level() first.
  virtual void log_evalue(const EventId& id, std::string_view name, const EValue& value, LoggedEValueType type) = 0;

  EventTracerDebugLogLevel event_tracer_debug_level() const { return debug_level_; }
  void set_event_tracer_debug_level(EventTracerDebugLogLevel level) { debug_level_ = level; }
  EventTracerProfilingLevel event_tracer_profiling_level() const { return profiling_level_; }
  void set_event_tracer_profiling_level(EventTracerProfilingLevel level) { profiling_level_ = level; }
  // The test case of a bundled program that gave the inputs of the following executions, -1: none.
  void set_bundled_input_index(int32_t index) { bundled_input_index_ = index; }
  // The fingerprint of the program whose method is loaded.
  void set_program_fingerprint(uint64_t fingerprint) { program_fingerprint_ = fingerprint; }

  // Returns whether intermediate outputs are recorded.
  bool wants_intermediate_outputs() const { return debug_level_ == EventTracerDebugLogLevel::IntermediateOutputs; }

 protected:
  ~EventTracer() = default;
  int32_t bundled_input_index_ = -1;
  uint64_t program_fingerprint_ = 0;

 private:
  EventTracerDebugLogLevel debug_level_ = EventTracerDebugLogLevel::NoLogging;
  EventTracerProfilingLevel profiling_level_ = EventTracerProfilingLevel::ProfileAllEvents;
};

// Returns a tracer, or null in a build without event tracing: the compiler then removes the code that uses it.
inline EventTracer* enabled_tracer(EventTracer* tracer) { return kHasTracing ? tracer : nullptr; }

// Records an event from its creation to the end of its scope. `tracer` may be null.
class EventTracerScope {
 public:
  EventTracerScope(EventTracer* tracer, const EventId& id, std::string_view name) : tracer_(tracer) {
    if (tracer_) entry_ = tracer_->start_profiling(id, name);
  }
  ~EventTracerScope() {
    if (tracer_) tracer_->end_profiling(entry_);
  }
  EventTracerScope(const EventTracerScope&) = delete;
  EventTracerScope& operator=(const EventTracerScope&) = delete;

 private:
  EventTracer* tracer_;
  EventTracerEntry entry_{};
};

}  // namespace rushlight
