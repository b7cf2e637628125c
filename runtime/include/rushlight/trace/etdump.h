#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/event_tracer.h"
#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight {

// Copies the elements of a tensor to `out` in row-major order.
void copy_row_major(const Tensor& tensor, uint8_t* out);

// Stores the elements of recorded tensors.
class TensorSink {
 public:
  virtual ~TensorSink() = default;
  // Stores the elements in row-major order. Returns the offset of the first one in bytes, which the dump contains.
  virtual Result<size_t> write(const Tensor& tensor) = 0;
};

// Records events in a buffer of the caller, and returns them as an ETDump, the file format of ExecuTorch's Inspector.
// It allocates no memory. An event that does not fit into the buffer is dropped and counted. One thread uses a tracer
// at a time.
class ETDumpGen final : public EventTracer {
 public:
  // `buffer` outlives the tracer. A buffer that is too small for an empty dump drops every event.
  explicit ETDumpGen(Span<uint8_t> buffer);
  ETDumpGen(const ETDumpGen&) = delete;
  ETDumpGen& operator=(const ETDumpGen&) = delete;

  // Sets the memory for the elements of recorded tensors, which outlives the tracer. Tensors that do not fit are
  // dropped and counted. set_event_tracer_debug_level() selects the values that are recorded.
  void set_debug_buffer(Span<uint8_t> buffer);
  // Stores the elements of recorded tensors in `sink`, which outlives the tracer, instead of the debug buffer. A tensor
  // is dropped and counted if the sink returns an error. Null selects the debug buffer again.
  void set_tensor_sink(TensorSink* sink) { sink_ = sink; }
  // Records allocations from now on. By default no allocation is recorded, because ExecuTorch's Inspector cannot read
  // dumps that contain allocations.
  void set_allocation_tracking(bool is_on) { tracks_allocations_ = is_on; }
  // Returns the dump with its size in the first four bytes. The dump is in the buffer and is valid until the next
  // event. Recording may continue afterwards. The result is empty if the buffer is too small for an empty dump.
  Span<const uint8_t> get_etdump_data();
  // Returns the elements of the recorded tensors.
  Span<const uint8_t> get_debug_data() const { return {debug_.data(), debug_used_}; }
  // Returns the number of blocks of events, including blocks that did not fit.
  size_t get_num_blocks() const { return num_blocks_; }
  uint64_t dropped_events() const { return dropped_; }
  // Removes all events.
  void reset();

  void create_event_block(std::string_view name) override;
  EventTracerEntry start_profiling(const EventId& id, std::string_view name) override;
  void end_profiling(const EventTracerEntry& entry, Span<const uint8_t> metadata = {}) override;
  void log_profiling_delegate(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns,
                              Span<const uint8_t> metadata = {}) override;
  AllocatorId track_allocator(std::string_view name) override;
  void track_allocation(AllocatorId allocator, size_t size) override;
  void log_evalue(const EventId& id, std::string_view name, const EValue& value, LoggedEValueType type) override;

 private:
  // The place of an object: the distance of its first byte from the end of the buffer. 0 means no object.
  using Place = uint32_t;

  // The parts of a dump that do not depend on its events.
  struct Fixed {
    Place profile_vtable, delegate_vtable, allocation_vtable, debug_vtable, delegate_debug_vtable, tensor_vtable,
        number_vtable, bool_vtable, list_vtable, event_vtables[3], run_vtable, allocator_vtable, dump_vtable;
    Place empty_text, true_value;
  };
  struct KnownText {
    uint32_t hash;
    Place place;
  };
  static constexpr size_t kMaxAllocators = 16;
  static constexpr size_t kKnownTexts = 64;

  uint8_t* at(Place place) const { return end_ - place; }
  template <typename T>
  void put(Place table, size_t offset, T value);
  void point(Place table, size_t offset, Place target);
  size_t tail_bytes(size_t events, size_t blocks) const;
  Place reserve(size_t size, size_t alignment, size_t ahead);
  Place add_table(Place vtable, size_t size, size_t alignment);
  Place add_vtable(const uint16_t* entries, size_t count);
  Place add_bytes(const void* data, size_t size);
  Place add_text(std::string_view text);
  Place add_event(size_t kind, Place content);
  Place add_value(const EValue& value, LoggedEValueType type);
  Place add_number(int64_t bits);
  Place add_tensor(const Tensor& tensor);
  Place add_tensors(Span<const Tensor> tensors);
  Place close_block();
  void write_fixed();
  void log_profile(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns,
                   Span<const uint8_t> metadata);
  std::string_view name_of(EventKind kind, std::string_view name, Span<char> buffer) const;
  bool opens_block();

  uint8_t* begin_ = nullptr;
  uint8_t* end_ = nullptr;  // a multiple of 8
  Place used_ = 0;          // bytes from the end that hold objects
  size_t capacity_ = 0;
  Fixed fixed_{};
  bool is_usable_ = false;  // whether the parts in fixed_ fit into the buffer
  Place block_name_ = 0;    // of the open block, 0: no block is open
  Place block_method_ = 0;  // the name of the loaded or executed method, 0: it is not known yet
  int32_t block_input_ = -1;
  Place last_event_ = 0;  // last event of the open block
  size_t num_events_ = 0;
  Place last_block_ = 0;  // last closed block
  size_t num_closed_ = 0;
  size_t num_blocks_ = 0;
  uint64_t dropped_ = 0;
  Span<uint8_t> debug_;
  size_t debug_used_ = 0;
  TensorSink* sink_ = nullptr;
  bool tracks_allocations_ = false;
  Place allocators_[kMaxAllocators] = {};  // their tables
  Place allocator_names_[kMaxAllocators] = {};
  uint32_t num_allocators_ = 0;
  KnownText known_[kKnownTexts] = {};
};

}  // namespace rushlight
