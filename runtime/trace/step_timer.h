// Measures the time of each instruction of a method, and of each step inside its delegates.
#pragma once

#include <string>
#include <vector>

#include "rushlight/core/event_tracer.h"
#include "rushlight/platform/platform.h"

namespace rushlight {

class StepTimer final : public EventTracer {
 public:
  struct Event {
    EventId id;
    std::string name;
    uint64_t start_ns, end_ns;
  };

  void create_event_block(std::string_view) override { events_.clear(); }
  EventTracerEntry start_profiling(const EventId& id, std::string_view name) override {
    events_.push_back({id, std::string(name), platform::now_ns(), 0});
    return {id, name, 0, events_.size() - 1};
  }
  void end_profiling(const EventTracerEntry& entry, Span<const uint8_t>) override {
    events_[entry.token].end_ns = platform::now_ns();
  }
  void log_profiling_delegate(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns,
                              Span<const uint8_t>) override {
    events_.push_back({id, std::string(name), start_ns, end_ns});
  }
  AllocatorId track_allocator(std::string_view) override { return 0; }
  void track_allocation(AllocatorId, size_t) override {}
  void log_evalue(const EventId&, std::string_view, const EValue&, LoggedEValueType) override {}

  // Returns the times of the last load or run, in the order in which the events began.
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
};

}  // namespace rushlight
