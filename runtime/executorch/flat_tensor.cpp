#include <cstdio>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <vector>

#include "executorch/extension/flat_tensor/serialize/serialize.h"
#include "executorch/runtime/platform/log.h"

namespace executorch {
namespace extension {
namespace flat_tensor {

using runtime::Error;

namespace {

using Tensors = std::map<std::string, aten::Tensor>;

size_t align_up(size_t size, size_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

// Tables in the format of FlatBuffers, written from front to back: an object follows all offsets that refer to it.
class Tables {
 public:
  size_t size() const { return bytes_.size(); }
  const char* data() const { return bytes_.data(); }

  // Appends a number and returns its place.
  template <typename T>
  size_t add(T value) {
    const size_t place = size();
    bytes_.resize(place + sizeof(T));
    set(place, value);
    return place;
  }
  template <typename T>
  void set(size_t place, T value) {
    std::memcpy(&bytes_[place], &value, sizeof(T));
  }
  void add_bytes(const char* data, size_t count) { bytes_.insert(bytes_.end(), data, data + count); }
  // Appends zeros until the size is `phase` more than a multiple of `alignment`.
  void pad(size_t alignment, size_t phase = 0) {
    while (size() % alignment != phase) bytes_.push_back(0);
  }

  // Appends the layout of a kind of tables: their size, and the places of their fields, or 0 for fields with the
  // default value.
  size_t add_layout(uint16_t table_size, std::initializer_list<uint16_t> fields) {
    const size_t place = add(static_cast<uint16_t>(4 + 2 * fields.size()));
    add(table_size);
    for (const uint16_t field : fields) add(field);
    return place;
  }
  // Begins a table, to which the offset at `reference` refers. Its fields follow.
  void begin_table(size_t reference, size_t layout) {
    pad(8, 4);  // so that numbers of 8 bytes can follow the 4 bytes of the next line
    refer(reference);
    add(static_cast<int32_t>(size() - layout));
  }
  // Appends a vector of offsets and returns the place of the first one.
  size_t add_offsets(size_t reference, size_t count) {
    begin_vector(reference, count);
    bytes_.resize(size() + 4 * count);
    return size() - 4 * count;
  }
  void begin_vector(size_t reference, size_t count) {
    pad(4);
    refer(reference);
    add(static_cast<uint32_t>(count));
  }

 private:
  void refer(size_t reference) { set(reference, static_cast<uint32_t>(size() - reference)); }
  std::vector<char> bytes_;
};

// The header after the root offset and the file identifier.
constexpr uint32_t kHeaderBytes = 40;
constexpr size_t kHeaderEnd = 8 + kHeaderBytes;

// Writes the tables of a file: a segment and an entry for each tensor. `segment_bytes` receives the size of all
// segments.
Tables make_tables(const Tensors& tensors, size_t alignment, size_t* segment_bytes) {
  Tables tables;
  const size_t root = tables.add(uint32_t{0});
  tables.add_bytes("FT01", 4);
  tables.add_bytes("FH01", 4);
  tables.add(kHeaderBytes);
  tables.pad(kHeaderEnd);
  const size_t file = tables.add_layout(12, {0, 4, 8});            // version, segments, named_data
  const size_t segment = tables.add_layout(20, {4, 12});           // offset, size
  const size_t entry = tables.add_layout(16, {4, 8, 12});          // key, segment_index, tensor_layout
  const size_t tensor_layout = tables.add_layout(13, {12, 4, 8});  // scalar_type, sizes, dim_order

  tables.begin_table(root, file);
  const size_t segments = tables.add(uint32_t{0}), entries = tables.add(uint32_t{0});
  size_t reference = tables.add_offsets(segments, tensors.size());
  size_t end = 0;
  for (const auto& [key, tensor] : tensors) {
    tables.begin_table(reference, segment);
    const size_t offset = align_up(end, alignment);
    tables.add(uint64_t{offset});
    tables.add(uint64_t{tensor.nbytes()});
    end = offset + tensor.nbytes();
    reference += 4;
  }
  *segment_bytes = end;

  reference = tables.add_offsets(entries, tensors.size());
  uint32_t index = 0;
  for (const auto& [key, tensor] : tensors) {
    tables.begin_table(reference, entry);
    const size_t name = tables.add(uint32_t{0});
    tables.add(index++);
    const size_t layout = tables.add(uint32_t{0});
    tables.begin_vector(name, key.size());
    tables.add_bytes(key.c_str(), key.size() + 1);
    tables.begin_table(layout, tensor_layout);
    const size_t sizes = tables.add(uint32_t{0}), order = tables.add(uint32_t{0});
    tables.add(static_cast<uint8_t>(tensor.scalar_type()));
    tables.begin_vector(sizes, tensor.sizes().size());
    for (const auto size : tensor.sizes()) tables.add(static_cast<int32_t>(size));
    tables.begin_vector(order, tensor.dim_order().size());
    for (const auto dim : tensor.dim_order()) tables.add(static_cast<uint8_t>(dim));
    reference += 4;
  }
  tables.pad(8);
  tables.set(16, uint64_t{kHeaderEnd});
  tables.set(24, uint64_t{tables.size() - kHeaderEnd});
  tables.set(32, uint64_t{align_up(tables.size(), alignment)});
  tables.set(40, uint64_t{end});
  return tables;
}

Error check(const Tensors& tensors, size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                           "the alignment %zu is not a power of 2", alignment);
  for (const auto& [key, tensor] : tensors) {
    ET_CHECK_OR_RETURN_ERROR(tensor.const_data_ptr() || tensor.nbytes() == 0, InvalidArgument,
                             "tensor '%.80s' has no data", key.c_str());
  }
  return Error::Ok;
}

void write_zeros(std::ostream& out, size_t count) {
  for (; count > 0; --count) out.put(0);
}

}  // namespace

Error save_ptd(std::ostream& out, const Tensors& tensor_map, size_t tensor_alignment) {
  RL_TRY(check(tensor_map, tensor_alignment));
  size_t segment_bytes = 0;
  const Tables tables = make_tables(tensor_map, tensor_alignment, &segment_bytes);
  out.write(tables.data(), static_cast<std::streamsize>(tables.size()));
  write_zeros(out, align_up(tables.size(), tensor_alignment) - tables.size());
  size_t end = 0;
  for (const auto& [key, tensor] : tensor_map) {
    write_zeros(out, align_up(end, tensor_alignment) - end);
    out.write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
    end = align_up(end, tensor_alignment) + tensor.nbytes();
  }
  ET_CHECK_OR_RETURN_ERROR(out.flush().good(), AccessFailed, "the tensors cannot be written");
  return Error::Ok;
}

Error save_ptd(const std::string& path, const Tensors& tensor_map, size_t tensor_alignment) {
  RL_TRY(check(tensor_map, tensor_alignment));
  std::ofstream out(path, std::ios::binary);
  ET_CHECK_OR_RETURN_ERROR(out.is_open(), AccessFailed, "cannot write to '%s'", path.c_str());
  const Error error = save_ptd(out, tensor_map, tensor_alignment);
  if (error != Error::Ok) {
    out.close();
    std::remove(path.c_str());
  }
  return error;
}

}  // namespace flat_tensor
}  // namespace extension
}  // namespace executorch
