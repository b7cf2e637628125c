#include "backends/xnnpack/payload.h"

#include <cmath>
#include <cstring>
#include <new>

#include "backends/xnnpack/read_node.h"
#include "backends/xnnpack/read_quantization.h"
#include "core/make_array.h"

namespace rushlight::xnnpack {
namespace {

using flatbuffer::load;

struct Sections {
  const uint8_t* tables = nullptr;
  size_t tables_size = 0;
  const uint8_t* constants = nullptr;
  uint64_t constants_size = 0;
};

// Finds the tables and the constants. Header: u8[4] 0, u8[4] "XH00", u16 header length, u32 tables offset, u32 tables
// size, u32 constants offset, u64 constants size. A payload without a header consists only of the tables.
Error find_sections(const uint8_t* data, size_t size, Sections* sections) {
  constexpr size_t kHeader = 30;
  RL_REQUIRE(size >= 8, InvalidProgram, "the XNNPACK payload has only %zu bytes, too few for a header", size);
  if (std::memcmp(data + 4, "XH00", 4) != 0) {
    sections->tables = data;
    sections->tables_size = size;
    return Error::Ok;
  }
  RL_REQUIRE(size >= kHeader && load<uint16_t>(data + 8) >= kHeader && load<uint16_t>(data + 8) <= size, InvalidProgram,
             "the header of the XNNPACK payload is longer than its %zu bytes", size);
  const uint64_t tables = load<uint32_t>(data + 10), tables_size = load<uint32_t>(data + 14);
  const uint64_t constants = load<uint32_t>(data + 18), constants_size = load<uint64_t>(data + 22);
  RL_REQUIRE(tables <= size && tables_size <= size - tables, InvalidProgram,
             "the tables of the XNNPACK payload extend beyond its end");
  RL_REQUIRE(constants <= size && constants_size <= size - constants, InvalidProgram,
             "the constants of the XNNPACK payload extend beyond its end");
  *sections = {data + tables, static_cast<size_t>(tables_size), data + constants, constants_size};
  return Error::Ok;
}

class Reader {
 public:
  Reader(const Sections& sections, const NamedDataMap* named_data, MemoryAllocator& allocator, bool* keeps_payload)
      : sections_(sections), named_data_(named_data), allocator_(allocator), keeps_payload_(keeps_payload) {}

  Error run(Graph* graph) {
    graph_ = graph;
    table_ = flatbuffer::root<schema::XNNGraph>(sections_.tables);
    RL_TRY(read_values());
    return read_nodes();
  }

 private:
  Error read_values() {
    const size_t count = table_.xvalues().size();
    Value* values = make_array<Value>(allocator_, count);
    FreeableBuffer* constants = make_array<FreeableBuffer>(allocator_, table_.constant_data().size());
    RL_REQUIRE(values && constants, MemoryAllocationFailed, "no memory for the graph's %zu values", count);
    graph_->values = {values, count};
    graph_->constants = {constants, table_.constant_data().size()};
    for (size_t i = 0; i < count; ++i) {
      const schema::XValue value = table_.xvalues()[i];
      schema::XNNTensorValue tensor = value.xvalue_union_as_XNNTensorValue();
      if (const schema::XNNQuantizedTensorValue quantized = value.xvalue_union_as_XNNQuantizedTensorValue()) {
        tensor = quantized.tensor_value();
        RL_REQUIRE(bool(tensor), InvalidProgram, "value %zu of the XNNPACK payload has no tensor of a known type", i);
        RL_TRY(read_shape(i, tensor, &values[i]));
        RL_TRY(read_quantization(quantized, i, &values[i]));
        RL_TRY(read_scales(quantized, i, &values[i]));
      } else {
        RL_REQUIRE(bool(tensor), InvalidProgram, "value %zu of the XNNPACK payload has no tensor of a known type", i);
        RL_TRY(read_dtype(i, tensor.datatype(), &values[i].dtype));
        RL_TRY(read_shape(i, tensor, &values[i]));
      }
      RL_TRY(read_role(i, tensor, &values[i]));
    }
    graph_->num_arguments = table_.num_externs();
    for (size_t i = 0; i < count; ++i) {
      RL_REQUIRE(values[i].argument == kNone || values[i].argument < graph_->num_arguments, InvalidProgram,
                 "value %zu is argument %u, but the XNNPACK payload declares %u arguments", i, values[i].argument,
                 graph_->num_arguments);
    }
    RL_REQUIRE(graph_->num_arguments <= count + 4096, InvalidProgram,
               "the XNNPACK payload declares %u arguments, too many for its %zu values", graph_->num_arguments, count);
    return Error::Ok;
  }

  Error read_shape(size_t id, const schema::XNNTensorValue& tensor, Value* value) {
    RL_REQUIRE(tensor.id_out() == id, InvalidProgram, "value %zu of the XNNPACK payload has the wrong id %u", id,
               tensor.id_out());
    value->shape.rank = tensor.dims().size();
    RL_REQUIRE(tensor.num_dims() == value->shape.rank && value->shape.rank <= kMaxRank, InvalidProgram,
               "value %zu of the XNNPACK payload declares %u dimensions, but has other sizes or too many", id,
               tensor.num_dims());
    for (uint32_t i = 0; i < value->shape.rank; ++i) value->shape.dims[i] = tensor.dims()[i];
    RL_REQUIRE(check_shape(value->shape) == Error::Ok, InvalidProgram,
               "value %zu of the XNNPACK payload is empty or too large", id);
    return Error::Ok;
  }

  // Reads whether a value is an input, an output, a constant or an intermediate value.
  Error read_role(size_t id, const schema::XNNTensorValue& tensor, Value* value) {
    value->is_input = (tensor.flags() & 1) != 0;
    value->is_output = (tensor.flags() & 2) != 0;
    value->argument = value->is_input || value->is_output ? tensor.external_id() : kNone;
    RL_REQUIRE(!(value->is_input && value->is_output), InvalidProgram,
               "value %zu of the XNNPACK payload is both an input and an output", id);
    RL_REQUIRE((value->is_input || value->is_output) == (value->argument != kNone), InvalidProgram,
               "value %zu of the XNNPACK payload is an input or an output, but has no argument index", id);
    if (tensor.constant_buffer_idx() == 0) return Error::Ok;
    RL_REQUIRE(value->argument == kNone, InvalidProgram,
               "value %zu of the XNNPACK payload is both a constant and an argument", id);
    return read_constant(id, tensor.constant_buffer_idx(), value);
  }

  Error read_dtype(size_t id, schema::XNNDatatype datatype, ScalarType* dtype) {
    switch (datatype) {
      case schema::XNNDatatype::xnn_datatype_fp32:
        *dtype = ScalarType::Float;
        return Error::Ok;
      case schema::XNNDatatype::xnn_datatype_fp16:
        *dtype = ScalarType::Half;
        return Error::Ok;
      case schema::XNNDatatype::xnn_datatype_bf16:
        *dtype = ScalarType::BFloat16;
        return Error::Ok;
      default:
        return fail(Error::NotSupported,
                    "value %zu of the payload has datatype %d, which XnnpackBackend does not support", id,
                    static_cast<int>(datatype));
    }
  }

  Error read_constant(size_t id, uint32_t index, Value* value) {
    const uint64_t needed = constant_bytes(*value);
    RL_ASSIGN(const void* data, find_constant(id, index, needed, element_size(value->dtype)));
    value->constant = data;
    if (table_.constant_data()[index].offset() == UINT64_MAX) value->name = table_.constant_data()[index].named_key();
    return Error::Ok;
  }

  // Reads the scales of a constant from a list of floats or from the constant data.
  Error read_scales(const schema::XNNQuantizedTensorValue& table, size_t id, Value* value) {
    Scales where;
    RL_TRY(find_scales(table, id, *value, &where));
    if (where.count == 0) return Error::Ok;
    if (where.constant == 0) {
      float* copy = allocator_.allocate_array<float>(where.count);
      RL_REQUIRE(copy != nullptr, MemoryAllocationFailed, "no memory for %u scales", where.count);
      for (uint32_t i = 0; i < where.count; ++i) copy[i] = where.floats[i];
      value->quantization.scales = copy;
    } else {
      RL_ASSIGN(value->quantization.scales,
                find_constant(id, where.constant, where.count * where.size, static_cast<size_t>(where.size)));
    }
    return check_scales(id, *value, where.count);
  }

  // Returns an entry of the constant data with at least `needed` bytes. The bytes are copied if they are not aligned.
  Result<const void*> find_constant(size_t id, uint32_t index, uint64_t needed, size_t alignment) {
    RL_REQUIRE(index < table_.constant_data().size(), InvalidProgram,
               "value %zu has constant %u, but the XNNPACK payload has %u constants", id, index,
               table_.constant_data().size());
    const schema::ConstantDataOffset where = table_.constant_data()[index];
    RL_REQUIRE(where.size() >= needed, InvalidProgram, "constant %u has %llu bytes, but value %zu needs %llu", index,
               static_cast<unsigned long long>(where.size()), id, static_cast<unsigned long long>(needed));
    FreeableBuffer& buffer = graph_->constants[index];
    if (buffer.data() == nullptr) {
      if (where.offset() != UINT64_MAX) {
        RL_REQUIRE(
            where.offset() <= sections_.constants_size && where.size() <= sections_.constants_size - where.offset(),
            InvalidProgram, "constant %u extends beyond the end of the XNNPACK payload", index);
        buffer = FreeableBuffer(sections_.constants + where.offset(), static_cast<size_t>(where.size()));
        *keeps_payload_ = true;
      } else {
        RL_REQUIRE(named_data_ != nullptr, InvalidExternalData,
                   "the program has no named data, but constant %u is the named data '%.80s'", index,
                   where.named_key().data());
        RL_ASSIGN(buffer, named_data_->data(where.named_key()));
      }
    }
    RL_REQUIRE(buffer.size() >= needed, InvalidExternalData, "constant '%.80s' has %zu bytes, but value %zu needs %llu",
               where.named_key().data(), buffer.size(), id, static_cast<unsigned long long>(needed));
    if (reinterpret_cast<uintptr_t>(buffer.data()) % alignment == 0) return static_cast<const void*>(buffer.data());
    void* copy = allocator_.allocate(static_cast<size_t>(needed), 16);
    RL_REQUIRE(copy != nullptr, MemoryAllocationFailed, "no memory for constant %u", index);
    std::memcpy(copy, buffer.data(), static_cast<size_t>(needed));
    return static_cast<const void*>(copy);
  }

  Error read_nodes() {
    const size_t count = table_.xnodes().size();
    Node* nodes = make_array<Node>(allocator_, count);
    bool* is_known = make_array<bool>(allocator_, graph_->values.size());
    RL_REQUIRE(nodes && is_known, MemoryAllocationFailed, "no memory for the graph's %zu nodes", count);
    graph_->nodes = {nodes, count};
    for (size_t i = 0; i < graph_->values.size(); ++i) {
      is_known[i] = graph_->values[i].constant != nullptr || graph_->values[i].is_input;
    }
    for (size_t i = 0; i < count; ++i) {
      Node& node = nodes[i];
      RL_TRY(read_node(table_.xnodes()[i], &node));
      for (uint32_t j = 0; j < node.num_inputs; ++j) {
        if (node.inputs[j] == kNone) continue;
        RL_REQUIRE(node.inputs[j] < graph_->values.size() && is_known[node.inputs[j]], InvalidProgram,
                   "node %zu (%s) reads value %u, which no earlier node computes", i, name_of(node.kind),
                   node.inputs[j]);
      }
      RL_REQUIRE(node.output < graph_->values.size() && !is_known[node.output], InvalidProgram,
                 "node %zu (%s) has value %u as its output, which does not exist or already has contents", i,
                 name_of(node.kind), node.output);
      is_known[node.output] = true;
    }
    RL_TRY(check_quantization(*graph_));
    for (size_t i = 0; i < graph_->values.size(); ++i) {
      RL_REQUIRE(is_known[i] || !graph_->values[i].is_output, InvalidProgram, "no node computes output value %zu", i);
    }
    return Error::Ok;
  }

  const Sections& sections_;
  const NamedDataMap* named_data_;
  MemoryAllocator& allocator_;
  bool* keeps_payload_;
  Graph* graph_ = nullptr;
  schema::XNNGraph table_;
};

}  // namespace

Error check_shape(const Shape& shape, bool may_be_empty) {
  const int64_t least = may_be_empty ? 0 : 1;
  int64_t product = 1;
  for (uint32_t i = 0; i < shape.rank; ++i) {
    if (shape.dims[i] < least || shape.dims[i] > kMaxElements) return Error::InvalidProgram;
    product *= shape.dims[i];
    if (product > kMaxElements) return Error::InvalidProgram;
  }
  return Error::Ok;
}

Result<Graph*> read_graph(const void* payload, size_t size, const NamedDataMap* named_data, MemoryAllocator& allocator,
                          bool* keeps_payload) {
  Sections sections;
  RL_TRY(find_sections(static_cast<const uint8_t*>(payload), size, &sections));
  if (reinterpret_cast<uintptr_t>(sections.tables) % flatbuffer::kBufferAlignment != 0) {
    void* copy = allocator.allocate(sections.tables_size, flatbuffer::kBufferAlignment);
    RL_REQUIRE(copy != nullptr, MemoryAllocationFailed, "no memory for %zu bytes of tables", sections.tables_size);
    std::memcpy(copy, sections.tables, sections.tables_size);
    sections.tables = static_cast<const uint8_t*>(copy);
  }
  flatbuffer::Malformed malformed;
  if (!flatbuffer::verify(schema::kXNNGraphSchema, sections.tables, sections.tables_size, &malformed)) {
    return fail(Error::InvalidProgram, "the XNNPACK payload is damaged at byte %zu of its tables (%s%s%s): %s",
                malformed.offset, malformed.table ? malformed.table : "", malformed.field ? "." : "",
                malformed.field ? malformed.field : "", malformed.reason);
  }
  void* memory = allocator.allocate(sizeof(Graph), alignof(Graph));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for the graph");
  Graph* graph = new (memory) Graph();
  *keeps_payload = false;
  const Error error = Reader(sections, named_data, allocator, keeps_payload).run(graph);
  if (error == Error::Ok) return graph;
  graph->~Graph();
  return error;
}

}  // namespace rushlight::xnnpack
