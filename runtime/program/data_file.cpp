#include "rushlight/program/data_file.h"

#include <cstring>

#include "program/extended_header.h"
#include "program/flat_tensor_generated.h"
#include "program/shape.h"
#include "program/tables.h"

namespace rushlight {
namespace {

using schema::flat_tensor::FlatTensor;
using schema::flat_tensor::kFlatTensorSchema;
using schema::flat_tensor::NamedData;

Error malformed(const flatbuffer::Malformed& why) {
  return fail(Error::InvalidExternalData, "the data file is damaged: %s (%s%s%s at byte %zu)", why.reason,
              why.table ? why.table : "", why.field ? "." : "", why.field ? why.field : "", why.offset);
}

Error check(const FlatTensor& file, const FileLayout& layout) {
  RL_REQUIRE(file.version() == 0, NotSupported, "the data file has schema version %u; this runtime supports version 0",
             file.version());
  const auto segments = file.segments();
  for (uint32_t i = 0; i < segments.size(); ++i) {
    RL_REQUIRE(
        segments[i].offset() <= layout.segment_size && segments[i].size() <= layout.segment_size - segments[i].offset(),
        InvalidExternalData, "segment %u is outside of the data file", i);
  }
  const auto named = file.named_data();
  for (uint32_t i = 0; i < named.size(); ++i) {
    const char* key = named[i].key().data();
    RL_REQUIRE(!named[i].key().empty(), InvalidExternalData, "item %u of the data file has an empty name", i);
    RL_REQUIRE(named[i].segment_index() < segments.size(), InvalidExternalData,
               "'%.80s' is in segment %u, but there are %u", key, named[i].segment_index(), segments.size());
    if (!named[i].has_tensor_layout()) continue;
    const auto tensor = named[i].tensor_layout();
    size_t nbytes = 0;
    const char* fault = check_shape(static_cast<ScalarType>(tensor.scalar_type()), span_of(tensor.sizes()),
                                    span_of(tensor.dim_order()), &nbytes);
    RL_REQUIRE(!fault, InvalidExternalData, "'%.80s' is an invalid tensor: %s", key, fault);
    RL_REQUIRE(nbytes <= segments[named[i].segment_index()].size(), InvalidExternalData,
               "'%.80s' is a tensor of %zu bytes in a segment of %llu bytes", key, nbytes,
               static_cast<unsigned long long>(segments[named[i].segment_index()].size()));
  }
  return Error::Ok;
}

Result<NamedData> find(const FlatTensor& file, std::string_view key) {
  for (const NamedData item : file.named_data()) {
    if (item.key() == key) return item;
  }
  return fail(Error::NotFound, "the data file has no entry named '%.*s'", static_cast<int>(key.size()), key.data());
}

}  // namespace

Result<DataFile> DataFile::load(DataLoader* loader) {
  RL_ASSIGN(const size_t file_size, loader->size());
  const size_t head_size = file_size < kHeaderBytes ? file_size : kHeaderBytes;
  FileLayout layout{};
  flatbuffer::Malformed why;
  {
    RL_ASSIGN(const FreeableBuffer head, loader->load(0, head_size, SegmentKind::External));
    const auto* bytes = static_cast<const uint8_t*>(head.data());  // null for an empty file
    RL_REQUIRE(head_size >= 8 && std::memcmp(bytes + 4, kFlatTensorSchema.identifier, 4) == 0, InvalidExternalData,
               "not a data file (.ptd)");
    if (!read_flat_tensor_layout(head.data(), head_size, file_size, &layout, &why)) return malformed(why);
  }
  DataFile file;
  file.loader_ = loader;
  file.segment_base_ = layout.segment_base;
  RL_ASSIGN(file.tables_, loader->load(0, static_cast<size_t>(layout.tables_size), SegmentKind::External));
  const void* tables = file.tables_.data();
  if (!flatbuffer::verify(kFlatTensorSchema, tables, static_cast<size_t>(layout.tables_size), &why)) {
    return malformed(why);
  }
  file.root_ = flatbuffer::follow(static_cast<const uint8_t*>(tables));
  RL_TRY(check(FlatTensor(file.root_), layout));
  return file;
}

bool DataFile::has(std::string_view key) const {
  for (const NamedData item : FlatTensor(root_).named_data()) {
    if (item.key() == key) return true;
  }
  return false;
}

Result<TensorLayout> DataFile::tensor_layout(std::string_view key) const {
  RL_ASSIGN(const NamedData item, find(FlatTensor(root_), key));
  RL_REQUIRE(item.has_tensor_layout(), NotFound, "'%.*s' in the data file is not a tensor",
             static_cast<int>(key.size()), key.data());
  const auto tensor = item.tensor_layout();
  const auto dtype = static_cast<ScalarType>(tensor.scalar_type());
  const auto sizes = span_of(tensor.sizes());
  return TensorLayout{dtype, sizes, span_of(tensor.dim_order()),
                      static_cast<size_t>(checked_numel(sizes)) * element_size(dtype)};
}

Result<FreeableBuffer> DataFile::data(std::string_view key) const {
  const FlatTensor file(root_);
  RL_ASSIGN(const NamedData item, find(file, key));
  const auto segment = file.segments()[item.segment_index()];
  if (segment.size() == 0) return FreeableBuffer("", 0);
  return loader_->load(static_cast<size_t>(segment_base_ + segment.offset()), static_cast<size_t>(segment.size()),
                       SegmentKind::External);
}

Error DataFile::load_into(std::string_view key, void* buffer, size_t size) const {
  const FlatTensor file(root_);
  RL_ASSIGN(const NamedData item, find(file, key));
  const auto segment = file.segments()[item.segment_index()];
  RL_REQUIRE(size <= segment.size(), InvalidArgument, "cannot read %zu bytes of '%.*s', which has %llu bytes", size,
             static_cast<int>(key.size()), key.data(), static_cast<unsigned long long>(segment.size()));
  return loader_->load_into(static_cast<size_t>(segment_base_ + segment.offset()), size, SegmentKind::External, buffer);
}

uint32_t DataFile::size() const { return FlatTensor(root_).named_data().size(); }

const char* DataFile::key(uint32_t index) const { return FlatTensor(root_).named_data()[index].key().data(); }

}  // namespace rushlight
