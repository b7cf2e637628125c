#pragma once

#include <cstdint>
#include <string_view>

#include "rushlight/core/evalue.h"

namespace rushlight {

enum class EventKind : uint8_t { Method, Kernel, Delegate, Move, Jump, Free, DelegateOperator };

struct EventId {
  EventKind kind;
  int32_t chain = -1;        // -1: none
  int32_t instruction = -1;  // index in the chain, -1: none
  int64_t delegate_debug_id = -1;
};

// Is told what a method does. All calls come from the thread that executes the method.
class EventTracer {
 public:
  // `name` outlives the event. The token goes to end_event.
  virtual uint64_t begin_event(const EventId& id, std::string_view name) = 0;
  virtual void end_event(uint64_t token, const EventId& id) = 0;
  // An event inside a delegate, with its own clock (nanoseconds).
  virtual void log_delegate_event(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns) = 0;
  virtual bool wants_values() const = 0;
  // An output of the instruction, after it ran; only if wants_values().
  virtual void log_value(const EventId& id, const EValue& value) = 0;

 protected:
  ~EventTracer() = default;
};

}  // namespace rushlight
