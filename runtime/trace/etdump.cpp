// The dump is written from the end of the buffer towards its start. The reason is that offsets of FlatBuffers point to
// higher addresses, so an object is written after the objects to which it refers. The whole dump shares the objects at
// the end of the buffer (vtables and the empty text). Each event contains a link to the previous event. When a block is
// closed, the vector of its events is written in front of them; each event reserves memory for its element of this
// vector.
#include "rushlight/trace/etdump.h"

#include <cstring>

#include "rushlight/core/tensor.h"
#include "rushlight/platform/platform.h"
#include "trace/etdump_generated.h"

namespace rushlight {
namespace {

using schema::etdump::ValueType;

constexpr size_t kDebugAlignment = 64;
// A Place has 32 bits, but an offset of FlatBuffers has 31 bits.
constexpr size_t kMaxCapacity = 0x7FFFFFF8;
// Bytes before the first table: the size, the offset of the root, and the file identifier.
constexpr size_t kHeaderBytes = 12;

// The tables of the dump: a signed offset of the vtable, then the fields at these byte offsets.
namespace profile {
constexpr size_t kName = 4, kStart = 8, kEnd = 16, kChain = 24, kInstruction = 28, kSize = 32;
constexpr size_t kNumber = 32, kText = 36, kMetadata = 40, kDelegateSize = 44;
}  // namespace profile
namespace debug {
constexpr size_t kEntry = 4, kChain = 8, kInstruction = 16, kNumber = 20, kText = 24, kName = 28, kSize = 32;
}  // namespace debug
namespace allocation {
constexpr size_t kAllocator = 4, kBytes = 8, kSize = 16;
}  // namespace allocation
namespace tensor {
constexpr size_t kSizes = 4, kOffset = 8, kStrides = 16, kType = 20, kSize = 24;
}  // namespace tensor
namespace number {
constexpr size_t kBits = 8, kSize = 16;
}  // namespace number
namespace value {
constexpr size_t kContent = 4, kType = 8, kOutput = 12, kSize = 16;
}  // namespace value
namespace event {
constexpr size_t kContent = 4, kPrevious = 8, kSize = 12;  // the link is not a field of the schema
}  // namespace event
namespace block {
constexpr size_t kName = 4, kInput = 8, kAllocators = 12, kEvents = 16, kMethod = 20, kPrevious = 24, kSize = 28;
}  // namespace block
namespace dump {
constexpr size_t kBlocks = 4, kDropped = 8, kFingerprint = 16, kSize = 24;
}  // namespace dump
constexpr size_t kReference = 4, kReferenceTable = 8;  // a table whose only field is an offset or a bool

// Vtables: bytes of the vtable, bytes of the table, then the offset of each field in the schema's order (0: absent).
constexpr uint16_t kProfile[] = {20, profile::kSize,  profile::kName, profile::kChain, profile::kInstruction, 0, 0,
                                 0,  profile::kStart, profile::kEnd};
constexpr uint16_t kDelegateProfile[] = {20,
                                         profile::kDelegateSize,
                                         profile::kName,
                                         profile::kChain,
                                         profile::kInstruction,
                                         profile::kNumber,
                                         profile::kText,
                                         profile::kMetadata,
                                         profile::kStart,
                                         profile::kEnd};
constexpr uint16_t kAllocation[] = {8, allocation::kSize, allocation::kAllocator, allocation::kBytes};
// ExecuTorch's Inspector pairs values with times by their identifiers. For the Inspector, an empty text is not the same
// as an absent text.
constexpr uint16_t kDebug[] = {16, debug::kSize, debug::kChain, debug::kInstruction, debug::kEntry, debug::kNumber,
                               0,  debug::kName};
constexpr uint16_t kDelegateDebug[] = {
    16, debug::kSize, debug::kChain, debug::kInstruction, debug::kEntry, debug::kNumber, debug::kText, debug::kName};
constexpr uint16_t kTensor[] = {12, tensor::kSize, tensor::kType, tensor::kSizes, tensor::kStrides, tensor::kOffset};
constexpr uint16_t kNumber[] = {6, number::kSize, number::kBits};
constexpr uint16_t kOneReference[] = {6, kReferenceTable, kReference};
constexpr uint16_t kEvents[][5] = {{6, event::kSize, event::kContent},
                                   {8, event::kSize, 0, event::kContent},
                                   {10, event::kSize, 0, 0, event::kContent}};
constexpr uint16_t kBlock[] = {
    14, block::kSize, block::kName, block::kInput, block::kAllocators, block::kEvents, block::kMethod};
constexpr uint16_t kDump[] = {12, dump::kSize, 0, dump::kBlocks, dump::kDropped, dump::kFingerprint};

constexpr size_t kProfileEvent = 0, kAllocationEvent = 1, kDebugEvent = 2;

size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

uint32_t hash_of(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

}  // namespace

void copy_row_major(const Tensor& tensor, uint8_t* out) {
  const uint8_t* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  const int64_t count = tensor.numel();
  const size_t width = tensor.element_size();
  int64_t step = 1;
  bool is_row_major = true;
  for (int64_t axis = tensor.dim(); axis-- > 0; step *= tensor.size(axis)) {
    is_row_major = is_row_major && (tensor.size(axis) == 1 || tensor.stride(axis) == step);
  }
  if (is_row_major) {
    if (count > 0) std::memcpy(out, data, static_cast<size_t>(count) * width);
    return;
  }
  for (int64_t i = 0; i < count; ++i, out += width) {
    int64_t place = 0;
    int64_t rest = i;
    for (int64_t axis = tensor.dim(); axis-- > 0; rest /= tensor.size(axis)) {
      place += rest % tensor.size(axis) * tensor.stride(axis);
    }
    std::memcpy(out, data + static_cast<size_t>(place) * width, width);
  }
}

ETDumpGen::ETDumpGen(Span<uint8_t> buffer) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(buffer.data());
  const uintptr_t last = (first + buffer.size()) / 8 * 8;
  capacity_ = last > first ? last - first : 0;
  if (capacity_ > kMaxCapacity) capacity_ = kMaxCapacity;
  end_ = buffer.data() + (last > first ? last - first : 0);
  begin_ = end_ - capacity_;
  reset();
}

void ETDumpGen::set_debug_buffer(Span<uint8_t> buffer) {
  debug_ = buffer;
  debug_used_ = 0;
}

void ETDumpGen::reset() {
  used_ = 0;
  fixed_ = {};
  block_name_ = block_method_ = last_event_ = last_block_ = 0;
  num_events_ = num_closed_ = num_blocks_ = 0;
  dropped_ = 0;
  debug_used_ = 0;
  num_allocators_ = 0;
  for (KnownText& text : known_) text = {};
  write_fixed();
}

template <typename T>
void ETDumpGen::put(Place table, size_t offset, T value) {
  std::memcpy(at(table) + offset, &value, sizeof(T));
}

// Writes a field of a table: the offset of the object `target`.
void ETDumpGen::point(Place table, size_t offset, Place target) {
  put(table, offset, static_cast<uint32_t>(table - offset - target));
}

// Returns the maximum bytes of the rest of a dump whose open block has `events` events.
size_t ETDumpGen::tail_bytes(size_t events, size_t blocks) const {
  const size_t vectors = 4 + 4 * events + 4 + 4 * num_allocators_ + 4 + 4 * blocks;
  return vectors + block::kSize + dump::kSize + kHeaderBytes + 16;
}

// Reserves `size` bytes. The byte at `ahead` bytes after their start is at a multiple of `alignment`. Returns their
// place, or 0 if they and the rest of the dump do not fit into the buffer.
ETDumpGen::Place ETDumpGen::reserve(size_t size, size_t alignment, size_t ahead) {
  if (size > capacity_) return 0;
  const size_t place = align_up(used_ + size - ahead, alignment) + ahead;
  if (place + tail_bytes(num_events_ + 1, num_closed_ + 2) > capacity_) return 0;
  used_ = static_cast<Place>(place);
  return used_;
}

ETDumpGen::Place ETDumpGen::add_table(Place vtable, size_t size, size_t alignment) {
  const Place table = reserve(size, alignment, 0);
  if (table == 0) return 0;
  std::memset(at(table), 0, size);
  put(table, 0, static_cast<int32_t>(at(table) - at(vtable)));
  return table;
}

ETDumpGen::Place ETDumpGen::add_vtable(const uint16_t* entries, size_t count) {
  const Place vtable = reserve(align_up(2 * count, 4), 4, 0);
  if (vtable != 0) std::memcpy(at(vtable), entries, 2 * count);
  return vtable;
}

// Adds a vector of bytes with a NUL at its end, so that the vector can also be a text.
ETDumpGen::Place ETDumpGen::add_bytes(const void* data, size_t size) {
  if (size > capacity_) return 0;
  const Place place = reserve(align_up(4 + size + 1, 4), 4, 0);
  if (place == 0) return 0;
  put(place, 0, static_cast<uint32_t>(size));
  if (size > 0) std::memcpy(at(place) + 4, data, size);
  at(place)[4 + size] = 0;
  return place;
}

// Adds a text, or returns the place of an equal text that was added before.
ETDumpGen::Place ETDumpGen::add_text(std::string_view text) {
  if (text.empty()) return fixed_.empty_text;
  const uint32_t hash = hash_of(text);
  KnownText& known = known_[hash % kKnownTexts];
  if (known.place != 0 && known.hash == hash && flatbuffer::string_at(at(known.place)) == text) return known.place;
  const Place place = add_bytes(text.data(), text.size());
  if (place != 0) known = {hash, place};
  return place;
}

void ETDumpGen::write_fixed() {
  const auto vtable = [this](const auto& entries) { return add_vtable(entries, entries[0] / 2u); };
  fixed_.profile_vtable = vtable(kProfile);
  fixed_.delegate_vtable = vtable(kDelegateProfile);
  fixed_.allocation_vtable = vtable(kAllocation);
  fixed_.debug_vtable = vtable(kDebug);
  fixed_.delegate_debug_vtable = vtable(kDelegateDebug);
  fixed_.tensor_vtable = vtable(kTensor);
  fixed_.number_vtable = vtable(kNumber);
  fixed_.bool_vtable = fixed_.list_vtable = fixed_.allocator_vtable = vtable(kOneReference);
  for (size_t kind = 0; kind < 3; ++kind) fixed_.event_vtables[kind] = vtable(kEvents[kind]);
  fixed_.run_vtable = vtable(kBlock);
  fixed_.dump_vtable = vtable(kDump);
  fixed_.empty_text = add_bytes(nullptr, 0);
  const Place last = fixed_.empty_text != 0 ? add_table(fixed_.bool_vtable, kReferenceTable, 4) : 0;
  if (last != 0) put(last, kReference, uint8_t{1});
  fixed_.true_value = last;
  is_usable_ = last != 0;
}

void ETDumpGen::create_event_block(std::string_view name) {
  if (!is_usable_) return;
  if (block_name_ != 0) {
    last_block_ = close_block();
    ++num_closed_;
    used_ = last_block_;
  }
  last_event_ = 0;
  num_events_ = 0;
  block_input_ = bundled_input_index_;
  block_method_ = 0;
  ++num_blocks_;
  const bool fits = used_ + tail_bytes(1, num_closed_ + 2) <= capacity_;
  block_name_ = fits ? add_text(name) : 0;
}

// Writes the open block in front of the used bytes, into the reserved memory. Returns its place.
ETDumpGen::Place ETDumpGen::close_block() {
  const Place events = static_cast<Place>(used_ + 4 + 4 * num_events_);
  put(events, 0, static_cast<uint32_t>(num_events_));
  Place current = last_event_;
  for (size_t i = num_events_; i-- > 0;) {
    point(events, 4 + 4 * i, current);
    std::memcpy(&current, at(current) + event::kPrevious, sizeof(current));
  }
  const Place allocators = static_cast<Place>(events + 4 + 4 * num_allocators_);
  put(allocators, 0, num_allocators_);
  for (size_t i = 0; i < num_allocators_; ++i) point(allocators, 4 + 4 * i, allocators_[i]);
  const Place table = static_cast<Place>(allocators + block::kSize);
  put(table, 0, static_cast<int32_t>(at(table) - at(fixed_.run_vtable)));
  point(table, block::kName, block_name_);
  put(table, block::kInput, block_input_);
  point(table, block::kAllocators, allocators);
  point(table, block::kEvents, events);
  point(table, block::kMethod, block_method_ != 0 ? block_method_ : fixed_.empty_text);
  put(table, block::kPrevious, last_block_);
  return table;
}

Span<const uint8_t> ETDumpGen::get_etdump_data() {
  if (!is_usable_) return {};
  const Place open = block_name_ != 0 ? close_block() : 0;
  const size_t count = num_closed_ + (open != 0 ? 1 : 0);
  const Place blocks = static_cast<Place>((open != 0 ? open : used_) + 4 + 4 * count);
  put(blocks, 0, static_cast<uint32_t>(count));
  Place current = open != 0 ? open : last_block_;
  for (size_t i = count; i-- > 0;) {
    point(blocks, 4 + 4 * i, current);
    std::memcpy(&current, at(current) + block::kPrevious, sizeof(current));
  }
  const Place root = static_cast<Place>(align_up(blocks + dump::kSize, 8));
  put(root, 0, static_cast<int32_t>(at(root) - at(fixed_.dump_vtable)));
  point(root, dump::kBlocks, blocks);
  put(root, dump::kDropped, dropped_);
  put(root, dump::kFingerprint, program_fingerprint_);
  const Place start = static_cast<Place>(align_up(root + kHeaderBytes, 8));
  put(start, 0, static_cast<uint32_t>(start - 4));
  put(start, 4, static_cast<uint32_t>(start - 4 - root));
  std::memcpy(at(start) + 8, schema::etdump::kETDumpSchema.identifier, 4);
  std::memset(at(start) + kHeaderBytes, 0, start - root - kHeaderBytes);
  return {at(start), start};
}

// Links an event to the open block. `content` 0 means that its content did not fit.
ETDumpGen::Place ETDumpGen::add_event(size_t kind, Place content) {
  if (content == 0) return 0;
  const Place table = add_table(fixed_.event_vtables[kind], event::kSize, 4);
  if (table == 0) return 0;
  point(table, event::kContent, content);
  put(table, event::kPrevious, last_event_);
  last_event_ = table;
  ++num_events_;
  return table;
}

// Returns whether a block is open. Opens a block if an event comes before the first create_event_block().
bool ETDumpGen::opens_block() {
  if (is_usable_ && num_blocks_ == 0) create_event_block("Default");
  if (is_usable_ && block_name_ != 0) return true;
  ++dropped_;
  return false;
}

std::string_view ETDumpGen::name_of(EventKind kind, std::string_view name, Span<char> buffer) const {
  switch (kind) {
    case EventKind::Load:
      return "Program::load_method";
    case EventKind::Init:
      return "Method::init";
    case EventKind::Method:
      return "Method::execute";
    case EventKind::Delegate:
      return "DELEGATE_CALL";
    case EventKind::Move:
      return "MOVE_CALL";
    case EventKind::Jump:
      return "JF_CALL";
    case EventKind::Free:
      return "FREE_CALL";
    case EventKind::DelegateOperator:
      return name;
    case EventKind::Kernel:
      break;
  }
  // "aten::add.out" becomes "native_call_add.out", the name that ExecuTorch gives a kernel.
  static constexpr std::string_view prefix = "native_call_";
  const size_t colons = name.rfind("::");
  const std::string_view op = colons == std::string_view::npos ? name : name.substr(colons + 2);
  const size_t capacity = buffer.size() - prefix.size();
  const size_t length = op.size() < capacity ? op.size() : capacity;
  std::memcpy(buffer.data(), prefix.data(), prefix.size());
  std::memcpy(buffer.data() + prefix.size(), op.data(), length);
  return {buffer.data(), prefix.size() + length};
}

EventTracerEntry ETDumpGen::start_profiling(const EventId& id, std::string_view name) {
  return {id, name, platform::now_ns(), 0};
}

void ETDumpGen::end_profiling(const EventTracerEntry& entry, Span<const uint8_t> metadata) {
  log_profile(entry.id, entry.name, entry.start_ns, platform::now_ns(), metadata);
}

void ETDumpGen::log_profiling_delegate(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns,
                                       Span<const uint8_t> metadata) {
  log_profile(id, name, start_ns, end_ns, metadata);
}

void ETDumpGen::log_profile(const EventId& id, std::string_view name, uint64_t start_ns, uint64_t end_ns,
                            Span<const uint8_t> metadata) {
  if (event_tracer_profiling_level() == EventTracerProfilingLevel::ProfileMethodOnly && id.instruction >= 0) return;
  if (!opens_block()) return;
  if (id.kind == EventKind::Method || id.kind == EventKind::Load) block_method_ = add_text(name);
  char buffer[160];
  const Place text = add_text(name_of(id.kind, name, buffer));
  const bool is_inside = id.kind == EventKind::DelegateOperator;
  const Place identifier = is_inside ? add_text(id.delegate_debug_name) : 0;
  const Place before = used_;
  const Place bytes = is_inside && !metadata.empty() ? add_bytes(metadata.data(), metadata.size()) : fixed_.empty_text;
  Place table = 0;
  if (text != 0 && bytes != 0 && (!is_inside || identifier != 0)) {
    table = is_inside ? add_table(fixed_.delegate_vtable, profile::kDelegateSize, 8)
                      : add_table(fixed_.profile_vtable, profile::kSize, 8);
  }
  if (add_event(kProfileEvent, table) == 0) {
    used_ = before;
    ++dropped_;
    return;
  }
  point(table, profile::kName, text);
  put(table, profile::kStart, start_ns);
  put(table, profile::kEnd, end_ns);
  put(table, profile::kChain, id.chain);
  put(table, profile::kInstruction, id.instruction);
  if (!is_inside) return;
  put(table, profile::kNumber, static_cast<int32_t>(id.delegate_debug_id));
  point(table, profile::kText, identifier);
  point(table, profile::kMetadata, bytes);
}

AllocatorId ETDumpGen::track_allocator(std::string_view name) {
  if (!is_usable_ || !tracks_allocations_) return 0;
  for (uint32_t i = 0; i < num_allocators_; ++i) {
    if (flatbuffer::string_at(at(allocator_names_[i])) == name) return i + 1;
  }
  if (num_allocators_ == kMaxAllocators) return 0;
  const Place text = add_text(name);
  const Place before = used_;
  ++num_allocators_;  // reserves the allocator's element of the vectors too
  const Place table = text != 0 ? add_table(fixed_.allocator_vtable, kReferenceTable, 4) : 0;
  if (table == 0) {
    --num_allocators_;
    used_ = before;
    return 0;
  }
  point(table, kReference, text);
  allocators_[num_allocators_ - 1] = table;
  allocator_names_[num_allocators_ - 1] = text;
  return num_allocators_;
}

void ETDumpGen::track_allocation(AllocatorId allocator, size_t size) {
  if (!tracks_allocations_) return;
  if (event_tracer_profiling_level() == EventTracerProfilingLevel::ProfileMethodOnly) return;
  if (!opens_block()) return;
  const Place before = used_;
  const Place table = allocator != 0 ? add_table(fixed_.allocation_vtable, allocation::kSize, 8) : 0;
  if (add_event(kAllocationEvent, table) == 0) {
    used_ = before;
    ++dropped_;
    return;
  }
  put(table, allocation::kAllocator, static_cast<int32_t>(allocator));
  put(table, allocation::kBytes, static_cast<uint64_t>(size));
}

ETDumpGen::Place ETDumpGen::add_number(int64_t bits) {
  const Place table = add_table(fixed_.number_vtable, number::kSize, 8);
  if (table != 0) put(table, number::kBits, bits);
  return table;
}

ETDumpGen::Place ETDumpGen::add_tensor(const Tensor& given) {
  const size_t rank = static_cast<size_t>(given.dim());
  size_t offset = align_up(debug_used_, kDebugAlignment);
  const size_t nbytes = given.nbytes();
  if (!sink_ && (offset > debug_.size() || nbytes > debug_.size() - offset)) return 0;
  const Place strides = reserve(4 + 8 * rank, 8, 4);
  const Place sizes = strides != 0 ? reserve(4 + 8 * rank, 8, 4) : 0;
  const Place table = sizes != 0 ? add_table(fixed_.tensor_vtable, tensor::kSize, 8) : 0;
  if (table == 0) return 0;
  put(sizes, 0, static_cast<uint32_t>(rank));
  put(strides, 0, static_cast<uint32_t>(rank));
  int64_t step = 1;
  for (size_t i = rank; i-- > 0; step *= given.size(static_cast<int64_t>(i))) {
    put(sizes, 4 + 8 * i, static_cast<int64_t>(given.size(static_cast<int64_t>(i))));
    put(strides, 4 + 8 * i, step);
  }
  point(table, tensor::kSizes, sizes);
  point(table, tensor::kStrides, strides);
  put(table, tensor::kType, static_cast<int8_t>(given.scalar_type()));
  if (sink_) {
    const Result<size_t> written = sink_->write(given);
    if (!written.ok()) return 0;
    offset = *written;
  } else {
    copy_row_major(given, debug_.data() + offset);
    debug_used_ = offset + nbytes;
  }
  put(table, tensor::kOffset, static_cast<int64_t>(offset));
  return table;
}

ETDumpGen::Place ETDumpGen::add_tensors(Span<const Tensor> tensors) {
  // Writes temporary places of the tensor tables, then the tables, then the vector that refers to them.
  const Place first = reserve(4 * tensors.size(), 4, 0);
  if (first == 0 && !tensors.empty()) return 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Place table = add_tensor(tensors[i]);
    if (table == 0) return 0;
    put(first, 4 * i, table);
  }
  const Place vector = reserve(4 + 4 * tensors.size(), 4, 0);
  const Place list = vector != 0 ? add_table(fixed_.list_vtable, kReferenceTable, 4) : 0;
  if (list == 0) return 0;
  put(vector, 0, static_cast<uint32_t>(tensors.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    Place table = 0;
    std::memcpy(&table, at(first) + 4 * i, sizeof(table));
    point(vector, 4 + 4 * i, table);
  }
  point(list, kReference, vector);
  return list;
}

ETDumpGen::Place ETDumpGen::add_value(const EValue& given, LoggedEValueType type) {
  Place content = 0;
  ValueType kind = ValueType::Null;
  size_t slot = 0;  // index of the field in the schema
  if (given.is_tensor()) {
    kind = ValueType::Tensor, slot = 1;
    content = add_tensor(given.to_tensor());
  } else if (given.tag == Tag::ListTensor) {
    kind = ValueType::TensorList, slot = 2;
    const Span<Tensor> tensors = given.to_tensor_list();
    content = add_tensors({tensors.data(), tensors.size()});
  } else if (given.tag == Tag::Int) {
    kind = ValueType::Int, slot = 3;
    content = add_number(given.to_int());
  } else if (given.tag == Tag::Double) {
    kind = ValueType::Double, slot = 5;
    const double number = given.to_double();
    int64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    content = add_number(bits);
  } else {
    kind = ValueType::Bool, slot = 6;
    content = add_table(fixed_.bool_vtable, kReferenceTable, 4);
    if (content != 0) put(content, kReference, static_cast<uint8_t>(given.to_bool()));
  }
  if (content == 0) return 0;
  const bool is_output = type == LoggedEValueType::ProgramOutput;
  uint16_t vtable[10] = {20, value::kSize, value::kType};
  vtable[2 + slot] = value::kContent;
  if (is_output) vtable[9] = value::kOutput;
  const Place fields = add_vtable(vtable, 10);
  const Place table = fields != 0 ? add_table(fields, value::kSize, 4) : 0;
  if (table == 0) return 0;
  put(table, value::kType, static_cast<int8_t>(kind));
  point(table, value::kContent, content);
  if (is_output) point(table, value::kOutput, fixed_.true_value);
  return table;
}

void ETDumpGen::log_evalue(const EventId& id, std::string_view name, const EValue& value, LoggedEValueType type) {
  switch (value.tag) {
    case Tag::Tensor:
    case Tag::ListTensor:
    case Tag::Int:
    case Tag::Double:
    case Tag::Bool:
      break;
    default:
      return;  // the format has no lists of this type
  }
  if (!opens_block()) return;
  if (id.kind == EventKind::Method || id.kind == EventKind::Load) block_method_ = add_text(name);
  char buffer[160];
  const Place text = add_text(name_of(id.kind, name, buffer));
  const bool is_inside = id.kind == EventKind::DelegateOperator;
  const Place identifier = add_text(id.delegate_debug_name);
  const Place before = used_;
  const size_t debug_before = debug_used_;
  Place table = 0;
  const Place entry = text != 0 && identifier != 0 ? add_value(value, type) : 0;
  if (entry != 0) {
    table = add_table(is_inside ? fixed_.delegate_debug_vtable : fixed_.debug_vtable, debug::kSize, 8);
  }
  if (add_event(kDebugEvent, table) == 0) {
    used_ = before;
    debug_used_ = debug_before;
    ++dropped_;
    return;
  }
  point(table, debug::kEntry, entry);
  put(table, debug::kChain, static_cast<uint64_t>(static_cast<int64_t>(id.chain)));
  put(table, debug::kInstruction, id.instruction);
  put(table, debug::kNumber, static_cast<int32_t>(id.delegate_debug_id));
  point(table, debug::kName, text);
  if (is_inside) point(table, debug::kText, identifier);
}

}  // namespace rushlight
