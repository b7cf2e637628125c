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

  uint64_t begin_event(const EventId& id, std::string_view name) override {
    if (id.kind == EventKind::Method) events_.clear();
    events_.push_back({id, std::string(name), platform::now_ns(), 0});
    return events_.size() - 1;
  }
  void end_event(uint64_t token, const EventId&) override { events_[token].end_ns = platform::now_ns(); }
  void log_delegate_event(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns) override {
    events_.push_back({id, std::string(name), start_ns, end_ns});
  }
  bool wants_values() const override { return false; }
  void log_value(const EventId&, const EValue&) override {}

  // The times of the last run, in the order in which the events began.
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
};

}  // namespace rushlight
