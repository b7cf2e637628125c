#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "executorch/runtime/core/evalue.h"
#include "executorch/runtime/core/exec_aten/exec_aten.h"
#include "executorch/runtime/platform/platform.h"
#include "rushlight/core/event_tracer.h"

namespace executorch {
namespace runtime {

using AllocatorID = uint32_t;
using ChainID = int32_t;
using DebugHandle = uint32_t;
using DelegateDebugIntId = int32_t;

constexpr ChainID kUnsetChainId = -1;
constexpr DebugHandle kUnsetDebugHandle = 0;
constexpr DelegateDebugIntId kUnsetDelegateDebugIntId = -1;
constexpr int kUnsetBundledInputIndex = -1;

enum class DelegateDebugIdType { kNone, kInt, kStr };
enum class LoggedEValueType { kIntermediateOutput = 0, kProgramOutput = 1 };
enum class EventTracerDebugLogLevel { kNoLogging, kProgramOutputs, kIntermediateOutputs };
enum class EventTracerProfilingLevel { kProfileMethodOnly, kProfileAllEvents };

// Selects the intermediate outputs of delegates to record.
class EventTracerFilterBase {
 public:
  virtual ~EventTracerFilterBase() = default;
  // Returns whether to record the output of an operator with this name or number.
  virtual Result<bool> filter(const char* name, DelegateDebugIntId delegate_debug_index) = 0;
};

// A started event.
struct EventTracerEntry {
  int64_t event_id = 0;
  ChainID chain_id = kUnsetChainId;
  DebugHandle debug_handle = kUnsetDebugHandle;
  et_timestamp_t start_time = 0;
  DelegateDebugIdType delegate_event_id_type = DelegateDebugIdType::kNone;
};

// Receives the events of a method while it is loaded and executed. An application may implement this class.
class EventTracer {
 public:
  EventTracer() : bridge_(*this) {}
  EventTracer(const EventTracer&) = delete;
  EventTracer& operator=(const EventTracer&) = delete;
  virtual ~EventTracer() = default;

  virtual void create_event_block(const char* name) = 0;
  virtual EventTracerEntry start_profiling(const char* name, ChainID chain_id = kUnsetChainId,
                                           DebugHandle debug_handle = kUnsetDebugHandle) = 0;
  virtual void end_profiling(EventTracerEntry prof_entry) = 0;
  virtual EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index) = 0;
  virtual void end_profiling_delegate(EventTracerEntry event_tracer_entry, const void* metadata = nullptr,
                                      size_t metadata_len = 0) = 0;
  virtual void log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                      et_timestamp_t start_time, et_timestamp_t end_time,
                                      const void* metadata = nullptr, size_t metadata_len = 0) = 0;
  virtual void track_allocation(AllocatorID id, size_t size) = 0;
  virtual AllocatorID track_allocator(const char* name) = 0;
  virtual Result<bool> log_evalue(const EValue& evalue, LoggedEValueType evalue_type) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const aten::Tensor& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const ArrayRef<aten::Tensor> output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const int& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const bool& output) = 0;
  virtual Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                        const double& output) = 0;
  virtual void set_delegation_intermediate_output_filter(EventTracerFilterBase* event_tracer_filter) = 0;

  void set_chain_debug_handle(ChainID chain_id, DebugHandle debug_handle) {
    chain_id_ = chain_id;
    debug_handle_ = debug_handle;
  }
  ChainID current_chain_id() { return chain_id_; }
  DebugHandle current_debug_handle() { return debug_handle_; }
  void set_bundled_input_index(int index) {
    bundled_input_index_ = index;
    native()->set_bundled_input_index(index);
  }
  int bundled_input_index() { return bundled_input_index_; }
  void set_event_tracer_debug_level(EventTracerDebugLogLevel level) {
    event_tracer_debug_level_ = level;
    native()->set_event_tracer_debug_level(static_cast<::rushlight::EventTracerDebugLogLevel>(level));
  }
  EventTracerDebugLogLevel event_tracer_debug_level() { return event_tracer_debug_level_; }
  void set_event_tracer_profiling_level(EventTracerProfilingLevel level) {
    event_tracer_profiling_level_ = level;
    native()->set_event_tracer_profiling_level(static_cast<::rushlight::EventTracerProfilingLevel>(level));
  }
  EventTracerProfilingLevel event_tracer_profiling_level() { return event_tracer_profiling_level_; }
  bool intermediate_outputs_logging_status() { return log_intermediate_tensors_; }

  // Returns the tracer as the runtime's type. It is valid as long as this object.
  virtual ::rushlight::EventTracer* native() { return &bridge_; }

 protected:
  ChainID chain_id_ = kUnsetChainId;
  DebugHandle debug_handle_ = kUnsetDebugHandle;
  bool event_tracer_enable_debugging_ = false;
  bool log_intermediate_tensors_ = false;
  int bundled_input_index_ = kUnsetBundledInputIndex;
  EventTracerDebugLogLevel event_tracer_debug_level_ = EventTracerDebugLogLevel::kNoLogging;
  EventTracerProfilingLevel event_tracer_profiling_level_ = EventTracerProfilingLevel::kProfileAllEvents;

 private:
  // Forwards the runtime's events to the enclosing tracer.
  class Bridge final : public ::rushlight::EventTracer {
   public:
    explicit Bridge(executorch::runtime::EventTracer& owner) : owner_(owner) {}
    void create_event_block(std::string_view name) override;
    ::rushlight::EventTracerEntry start_profiling(const ::rushlight::EventId& id, std::string_view name) override;
    void end_profiling(const ::rushlight::EventTracerEntry& entry, Span<const uint8_t> metadata) override;
    void log_profiling_delegate(const ::rushlight::EventId& id, std::string_view name, uint64_t start_ns,
                                uint64_t end_ns, Span<const uint8_t> metadata) override;
    ::rushlight::AllocatorId track_allocator(std::string_view name) override;
    void track_allocation(::rushlight::AllocatorId allocator, size_t size) override;
    void log_evalue(const ::rushlight::EventId& id, std::string_view name, const ::rushlight::EValue& value,
                    ::rushlight::LoggedEValueType type) override;

   private:
    static constexpr size_t kOpenEvents = 16;
    executorch::runtime::EventTracer& owner_;
    // The entries that owner_.start_profiling() returned; the index is the token of the runtime's entry.
    EventTracerEntry open_[kOpenEvents];
    uint64_t next_ = 0;
  };
  Bridge bridge_;
};

namespace internal {

// A tracer of the runtime with the interface of ExecuTorch's class. The runtime's tracer must outlive this object.
// `event` is the parent of delegate events.
class NativeTracer final : public EventTracer {
 public:
  NativeTracer(::rushlight::EventTracer* tracer, const ::rushlight::EventId& event);
  void create_event_block(const char* name) override;
  EventTracerEntry start_profiling(const char* name, ChainID chain_id, DebugHandle debug_handle) override;
  void end_profiling(EventTracerEntry prof_entry) override;
  EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index) override;
  void end_profiling_delegate(EventTracerEntry event_tracer_entry, const void* metadata, size_t metadata_len) override;
  void log_profiling_delegate(const char* name, DelegateDebugIntId delegate_debug_index, et_timestamp_t start_time,
                              et_timestamp_t end_time, const void* metadata, size_t metadata_len) override;
  void track_allocation(AllocatorID id, size_t size) override;
  AllocatorID track_allocator(const char* name) override;
  Result<bool> log_evalue(const EValue& evalue, LoggedEValueType evalue_type) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const aten::Tensor& output) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const ArrayRef<aten::Tensor> output) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const int& output) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const bool& output) override;
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId delegate_debug_index,
                                                const double& output) override;
  void set_delegation_intermediate_output_filter(EventTracerFilterBase* filter) override { filter_ = filter; }
  ::rushlight::EventTracer* native() override { return tracer_; }

 private:
  static constexpr size_t kOpenEvents = 16;
  struct Open {
    ::rushlight::EventTracerEntry entry;
    std::string name;
  };
  ::rushlight::EventId delegate_event(const char* name, DelegateDebugIntId number) const;
  EventTracerEntry open(const ::rushlight::EventId& id, const char* name);
  void close(const EventTracerEntry& entry, const void* metadata, size_t metadata_len);
  Result<bool> log_delegate_value(const char* name, DelegateDebugIntId number, const ::rushlight::EValue& value);
  ::rushlight::EventTracer* tracer_;
  ::rushlight::EventId event_;
  EventTracerFilterBase* filter_ = nullptr;
  Open open_[kOpenEvents];
  int64_t next_ = 0;
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::AllocatorID;
using ::executorch::runtime::ChainID;
using ::executorch::runtime::DebugHandle;
using ::executorch::runtime::DelegateDebugIdType;
using ::executorch::runtime::DelegateDebugIntId;
using ::executorch::runtime::EventTracer;
using ::executorch::runtime::EventTracerDebugLogLevel;
using ::executorch::runtime::EventTracerEntry;
using ::executorch::runtime::EventTracerFilterBase;
using ::executorch::runtime::EventTracerProfilingLevel;
using ::executorch::runtime::kUnsetBundledInputIndex;
using ::executorch::runtime::kUnsetChainId;
using ::executorch::runtime::kUnsetDebugHandle;
using ::executorch::runtime::kUnsetDelegateDebugIntId;
using ::executorch::runtime::LoggedEValueType;
}  // namespace executor
}  // namespace torch
