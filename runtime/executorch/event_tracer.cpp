#include "executorch/runtime/core/event_tracer.h"

#include <string>
#include <vector>

#include "executorch/runtime/platform/clock.h"
#include "rushlight/platform/platform.h"

namespace executorch {
namespace runtime {
namespace {

// Returns the name of an event as a text that ends with NUL.
std::string text_of(std::string_view name) { return std::string(name); }

}  // namespace

void EventTracer::Bridge::create_event_block(std::string_view name) {
  owner_.create_event_block(text_of(name).c_str());
}

::rushlight::EventTracerEntry EventTracer::Bridge::start_profiling(const ::rushlight::EventId& id,
                                                                   std::string_view name) {
  ::rushlight::EventTracerEntry started{id, name, ::rushlight::platform::now_ns(), next_};
  const bool is_delegate_event = id.kind == ::rushlight::EventKind::DelegateOperator;
  const std::string given(is_delegate_event && !id.delegate_debug_name.empty() ? id.delegate_debug_name : name);
  const ChainID chain = id.chain < 0 ? kUnsetChainId : id.chain;
  const DebugHandle handle = id.instruction < 0 ? kUnsetDebugHandle : static_cast<DebugHandle>(id.instruction);
  if (is_delegate_event) {
    const bool has_name = !id.delegate_debug_name.empty();
    open_[next_ % kOpenEvents] = owner_.start_profiling_delegate(
        has_name ? given.c_str() : nullptr,
        has_name ? kUnsetDelegateDebugIntId : static_cast<DelegateDebugIntId>(id.delegate_debug_id));
  } else {
    owner_.set_chain_debug_handle(chain, handle);
    open_[next_ % kOpenEvents] = owner_.start_profiling(given.c_str(), chain, handle);
  }
  ++next_;
  return started;
}

void EventTracer::Bridge::end_profiling(const ::rushlight::EventTracerEntry& entry, Span<const uint8_t> metadata) {
  const EventTracerEntry& opened = open_[entry.token % kOpenEvents];
  if (entry.id.kind == ::rushlight::EventKind::DelegateOperator) {
    owner_.end_profiling_delegate(opened, metadata.data(), metadata.size());
  } else {
    owner_.end_profiling(opened);
  }
}

void EventTracer::Bridge::log_profiling_delegate(const ::rushlight::EventId& id, std::string_view name,
                                                 uint64_t start_ns, uint64_t end_ns, Span<const uint8_t> metadata) {
  const std::string given = text_of(id.delegate_debug_name.empty() ? name : id.delegate_debug_name);
  const bool has_name = !id.delegate_debug_name.empty();
  owner_.log_profiling_delegate(
      has_name ? given.c_str() : nullptr,
      has_name ? kUnsetDelegateDebugIntId : static_cast<DelegateDebugIntId>(id.delegate_debug_id), start_ns, end_ns,
      metadata.data(), metadata.size());
}

::rushlight::AllocatorId EventTracer::Bridge::track_allocator(std::string_view name) {
  return owner_.track_allocator(text_of(name).c_str());
}

void EventTracer::Bridge::track_allocation(::rushlight::AllocatorId allocator, size_t size) {
  owner_.track_allocation(allocator, size);
}

void EventTracer::Bridge::log_evalue(const ::rushlight::EventId& id, std::string_view, const ::rushlight::EValue& value,
                                     ::rushlight::LoggedEValueType type) {
  owner_.set_chain_debug_handle(id.chain,
                                id.instruction < 0 ? kUnsetDebugHandle : static_cast<DebugHandle>(id.instruction));
  static_cast<void>(owner_.log_evalue(EValue(value), static_cast<LoggedEValueType>(type)).ok());
}

namespace internal {

NativeTracer::NativeTracer(::rushlight::EventTracer* tracer, const ::rushlight::EventId& event)
    : tracer_(tracer), event_(event) {
  event_tracer_debug_level_ = static_cast<EventTracerDebugLogLevel>(tracer->event_tracer_debug_level());
  event_tracer_profiling_level_ = static_cast<EventTracerProfilingLevel>(tracer->event_tracer_profiling_level());
  log_intermediate_tensors_ = tracer->wants_intermediate_outputs();
}

::rushlight::EventId NativeTracer::delegate_event(const char* name, DelegateDebugIntId number) const {
  return {::rushlight::EventKind::DelegateOperator, event_.chain, event_.instruction, number,
          name && number == kUnsetDelegateDebugIntId ? std::string_view(name) : std::string_view()};
}

EventTracerEntry NativeTracer::open(const ::rushlight::EventId& id, const char* name) {
  Open& place = open_[static_cast<size_t>(next_) % kOpenEvents];
  place.name = name ? name : "";
  ::rushlight::EventId kept = id;
  if (!id.delegate_debug_name.empty()) kept.delegate_debug_name = place.name;
  place.entry = tracer_->start_profiling(kept, place.name);
  EventTracerEntry entry;
  entry.event_id = next_++;
  entry.chain_id = id.chain;
  entry.start_time = pal_current_ticks();
  return entry;
}

void NativeTracer::close(const EventTracerEntry& entry, const void* metadata, size_t metadata_len) {
  tracer_->end_profiling(open_[static_cast<size_t>(entry.event_id) % kOpenEvents].entry,
                         Span<const uint8_t>(static_cast<const uint8_t*>(metadata), metadata_len));
}

void NativeTracer::create_event_block(const char* name) { tracer_->create_event_block(name); }

EventTracerEntry NativeTracer::start_profiling(const char* name, ChainID chain_id, DebugHandle debug_handle) {
  ::rushlight::EventId id;
  id.chain = chain_id;
  id.instruction = debug_handle == kUnsetDebugHandle ? -1 : static_cast<int32_t>(debug_handle);
  return open(id, name);
}

void NativeTracer::end_profiling(EventTracerEntry prof_entry) { close(prof_entry, nullptr, 0); }

EventTracerEntry NativeTracer::start_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index) {
  return open(delegate_event(name, delegate_debug_index), name);
}

void NativeTracer::end_profiling_delegate(EventTracerEntry event_tracer_entry, const void* metadata,
                                          size_t metadata_len) {
  close(event_tracer_entry, metadata, metadata_len);
}

void NativeTracer::log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                          et_timestamp_t start_time, et_timestamp_t end_time, const void* metadata,
                                          size_t metadata_len) {
  tracer_->log_profiling_delegate(delegate_event(name, delegate_debug_index), name ? name : "", ticks_to_ns(start_time),
                                  ticks_to_ns(end_time),
                                  Span<const uint8_t>(static_cast<const uint8_t*>(metadata), metadata_len));
}

void NativeTracer::track_allocation(AllocatorID id, size_t size) { tracer_->track_allocation(id, size); }

AllocatorID NativeTracer::track_allocator(const char* name) { return tracer_->track_allocator(name); }

Result<bool> NativeTracer::log_evalue(const EValue& evalue, LoggedEValueType evalue_type) {
  tracer_->log_evalue(event_, {}, evalue, static_cast<::rushlight::LoggedEValueType>(evalue_type));
  return true;
}

Result<bool> NativeTracer::log_delegate_value(const char* name, DelegateDebugIntId number,
                                              const ::rushlight::EValue& value) {
  if (filter_) {
    auto chosen = filter_->filter(name, number);
    if (!chosen.ok()) return chosen.error();
    if (!*chosen) return false;
  }
  tracer_->log_evalue(delegate_event(name, number), name ? name : "", value,
                      ::rushlight::LoggedEValueType::IntermediateOutput);
  return true;
}

Result<bool> NativeTracer::log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                            const aten::Tensor& output) {
  return log_delegate_value(name, index, ::rushlight::EValue(output));
}

Result<bool> NativeTracer::log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                            const ArrayRef<aten::Tensor> output) {
  std::vector<EValue> values(output.begin(), output.end());
  std::vector<EValue*> pointers;
  std::vector<aten::Tensor> storage(output.begin(), output.end());
  for (EValue& value : values) pointers.push_back(&value);
  if (values.empty()) return false;
  BoxedEvalueList<aten::Tensor> list(pointers.data(), storage.data(), static_cast<int>(values.size()));
  return log_delegate_value(name, index, EValue(&list));
}

Result<bool> NativeTracer::log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                            const int& output) {
  return log_delegate_value(name, index, EValue(output));
}

Result<bool> NativeTracer::log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                            const bool& output) {
  return log_delegate_value(name, index, EValue(output));
}

Result<bool> NativeTracer::log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                            const double& output) {
  return log_delegate_value(name, index, EValue(output));
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
