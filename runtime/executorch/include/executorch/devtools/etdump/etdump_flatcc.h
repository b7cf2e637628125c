#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "executorch/devtools/etdump/data_sinks/buffer_data_sink.h"
#include "executorch/runtime/core/event_tracer.h"
#include "executorch/runtime/core/span.h"
#include "rushlight/trace/etdump.h"

namespace executorch {
namespace etdump {

using runtime::DelegateDebugIntId;
using runtime::EventTracerFilterBase;
using runtime::Result;

// An ETDump of `size` bytes.
struct ETDumpResult {
  void* buf;
  size_t size;
};

// Records events for ExecuTorch's Inspector. It is rushlight::ETDumpGen with the interface of ExecuTorch's class. One
// thread uses a tracer at a time.
class ETDumpGen : public runtime::EventTracer {
 public:
  // Records into `buffer`, which must outlive the tracer. If `buffer` is empty, the tracer allocates memory.
  explicit ETDumpGen(runtime::Span<uint8_t> buffer = {});
  ~ETDumpGen() override;

  // Returns the dump. With a buffer of the caller, the dump is in this buffer until the next event or reset(). Without
  // one, `buf` is a malloc() allocation that the caller frees, as in ExecuTorch.
  ETDumpResult get_etdump_data();
  size_t get_num_blocks() { return native_.get_num_blocks(); }
  bool is_static_etdump() { return own_ == nullptr; }
  // Removes all events, and the data sink.
  void reset() {
    native_.reset();
    set_data_sink(nullptr);
  }
  // Sets the memory for the elements of recorded tensors.
  Result<bool> set_debug_buffer(runtime::Span<uint8_t> buffer) {
    debug_buffer_ = std::make_unique<BufferDataSink>(std::move(*BufferDataSink::create(buffer)));
    set_data_sink(debug_buffer_.get());
    return true;
  }
  // Sets the storage for the elements of recorded tensors, which outlives the tracer.
  void set_data_sink(DataSinkBase* data_sink) {
    data_sink_ = data_sink;
    elements_ = data_sink ? std::make_unique<Elements>(*data_sink) : nullptr;
    native_.set_tensor_sink(elements_.get());
  }
  // Returns the storage that was set, also by set_debug_buffer(); null if there is none.
  DataSinkBase* get_data_sink() { return data_sink_; }

  void create_event_block(const char* name) override { adapter_.create_event_block(name); }
  runtime::EventTracerEntry start_profiling(const char* name, runtime::ChainID chain_id,
                                            runtime::DebugHandle debug_handle) override {
    return adapter_.start_profiling(name, chain_id, debug_handle);
  }
  void end_profiling(runtime::EventTracerEntry entry) override { adapter_.end_profiling(entry); }
  runtime::EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId index) override {
    return adapter_.start_profiling_delegate(name, index);
  }
  void end_profiling_delegate(runtime::EventTracerEntry entry, const void* metadata, size_t metadata_len) override {
    adapter_.end_profiling_delegate(entry, metadata, metadata_len);
  }
  void log_profiling_delegate(const char* name, DelegateDebugIntId index, et_timestamp_t start_time,
                              et_timestamp_t end_time, const void* metadata, size_t metadata_len) override {
    adapter_.log_profiling_delegate(name, index, start_time, end_time, metadata, metadata_len);
  }
  void track_allocation(runtime::AllocatorID id, size_t size) override { adapter_.track_allocation(id, size); }
  runtime::AllocatorID track_allocator(const char* name) override { return adapter_.track_allocator(name); }
  Result<bool> log_evalue(const runtime::EValue& evalue, runtime::LoggedEValueType type) override {
    return adapter_.log_evalue(evalue, type);
  }
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                const aten::Tensor& output) override {
    return adapter_.log_intermediate_output_delegate(name, index, output);
  }
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                const runtime::ArrayRef<aten::Tensor> output) override {
    return adapter_.log_intermediate_output_delegate(name, index, output);
  }
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                const int& output) override {
    return adapter_.log_intermediate_output_delegate(name, index, output);
  }
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                const bool& output) override {
    return adapter_.log_intermediate_output_delegate(name, index, output);
  }
  Result<bool> log_intermediate_output_delegate(const char* name, DelegateDebugIntId index,
                                                const double& output) override {
    return adapter_.log_intermediate_output_delegate(name, index, output);
  }
  void set_delegation_intermediate_output_filter(EventTracerFilterBase* filter) override {
    adapter_.set_delegation_intermediate_output_filter(filter);
  }
  ::rushlight::EventTracer* native() override { return &native_; }

 private:
  // Writes the elements of tensors to a sink.
  class Elements final : public ::rushlight::TensorSink {
   public:
    explicit Elements(DataSinkBase& sink) : sink_(sink) {}
    Result<size_t> write(const aten::Tensor& tensor) override {
      std::vector<uint8_t> bytes(tensor.nbytes());
      ::rushlight::copy_row_major(tensor, bytes.data());
      return sink_.write(bytes.data(), bytes.size());
    }

   private:
    DataSinkBase& sink_;
  };
  std::unique_ptr<uint8_t[]> own_;  // null if the caller gave a buffer
  ::rushlight::ETDumpGen native_;
  runtime::internal::NativeTracer adapter_;
  std::unique_ptr<DataSinkBase> debug_buffer_;
  DataSinkBase* data_sink_ = nullptr;
  std::unique_ptr<::rushlight::TensorSink> elements_;
};

}  // namespace etdump
}  // namespace executorch

namespace torch {
namespace executor {
using etdump_result = ::executorch::etdump::ETDumpResult;
using ::executorch::etdump::ETDumpGen;
}  // namespace executor
}  // namespace torch
