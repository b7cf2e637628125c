#pragma once

#include <cstdint>
#include <string_view>

#include "rushlight/core/evalue.h"

namespace rushlight {

// The kind of an event.
enum class EventKind : uint8_t { Method, Kernel, Delegate, Move, Jump, Free, DelegateOperator };

// The place of an event in a method.
struct EventId {
  EventKind kind;
  int32_t chain = -1;              // index of the chain, -1: none
  int32_t instruction = -1;        // index in the chain, -1: none
  int64_t delegate_debug_id = -1;  // key of the delegate's debug handle map, -1: none
};

// Receives the events of a method while it is executed. All calls come from the thread that executes the method.
class EventTracer {
 public:
  // Starts an event. `name` stays valid until the end of the event. Returns a token for end_event().
  virtual uint64_t begin_event(const EventId& id, std::string_view name) = 0;
  // Ends the event of a token.
  virtual void end_event(uint64_t token, const EventId& id) = 0;
  // Records an event inside a delegate. The times are nanoseconds of a clock that the backend chooses.
  virtual void log_delegate_event(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns) = 0;
  // Returns whether log_value() is to be called.
  virtual bool wants_values() const = 0;
  // Receives an output of an instruction after it ran.
  virtual void log_value(const EventId& id, const EValue& value) = 0;

 protected:
  ~EventTracer() = default;
};

}  // namespace rushlight
