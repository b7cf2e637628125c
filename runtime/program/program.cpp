#include "rushlight/program/program.h"

#include <cstring>

#include "core/message.h"
#include "program/extended_header.h"
#include "program/plan_view.h"
#include "program/tables.h"
#include "program/validator.h"

namespace rushlight {
namespace {

// Sets the last error message to "the program is damaged: reason (table.field, at byte N)".
Error malformed(const flatbuffer::Malformed& why) {
  if (why.table) {
    return fail(Error::InvalidProgram, "the program is damaged: %s (%s%s%s, at byte %zu)", why.reason, why.table,
                why.field ? "." : "", why.field ? why.field : "", why.offset);
  }
  return fail(Error::InvalidProgram, "the program is damaged: %s (at byte %zu)", why.reason, why.offset);
}

Error check_identifier(const uint8_t* bytes) {
  if (is_program_header(bytes, 8)) return Error::Ok;
  const bool is_known_kind = std::memcmp(bytes + 4, "ET", 2) == 0;
  char found[5] = {};
  for (int i = 0; i < 4; ++i)
    found[i] = bytes[4 + i] >= 0x20 && bytes[4 + i] < 0x7f ? static_cast<char>(bytes[4 + i]) : '.';
  if (is_known_kind) {
    return fail(Error::NotSupported, "the program has the file identifier '%s'; this runtime supports 'ET12'", found);
  }
  return fail(Error::InvalidProgram, "not a .pte file: its file identifier is '%s', not 'ET12'", found);
}

}  // namespace

bool is_program_header(const void* data, size_t size) {
  return size >= 8 && std::memcmp(static_cast<const uint8_t*>(data) + 4, schema::kProgramSchema.identifier, 4) == 0;
}

Result<Program> Program::load(DataLoader* loader) {
  RL_ASSIGN(const size_t file_size, loader->size());
  RL_REQUIRE(file_size >= 8, InvalidProgram, "not a .pte file: it has %zu bytes", file_size);
  const size_t head_size = file_size < kHeaderBytes ? file_size : kHeaderBytes;
  FileLayout layout{};
  flatbuffer::Malformed why;
  {
    RL_ASSIGN(const FreeableBuffer head, loader->load(0, head_size, SegmentKind::Program));
    RL_TRY(check_identifier(static_cast<const uint8_t*>(head.data())));
    if (!read_program_layout(head.data(), head_size, file_size, &layout, &why)) return malformed(why);
  }
  Program program;
  program.loader_ = loader;
  program.segment_base_ = layout.segment_base;
  RL_ASSIGN(program.tables_, loader->load(0, static_cast<size_t>(layout.tables_size), SegmentKind::Program));
  const void* tables = program.tables_.data();
  if (!flatbuffer::verify(schema::kProgramSchema, tables, static_cast<size_t>(layout.tables_size), &why)) {
    return malformed(why);
  }
  program.root_ = flatbuffer::follow(static_cast<const uint8_t*>(tables));
  RL_TRY(check_program(program.root_, layout));
  const schema::SubsegmentOffsets constants = program_at(program.root_).constant_segment();
  if (!constants.offsets().empty()) {
    RL_ASSIGN(program.constants_, program.load_segment(constants.segment_index(), SegmentKind::Constant));
  }
  return program;
}

uint64_t Program::fingerprint() const {
  // Computes the CRC-32 of zlib and Ethernet, four bits at a time.
  static constexpr uint32_t remainders[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                              0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                              0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  const uint8_t* bytes = static_cast<const uint8_t*>(tables_.data());
  uint32_t crc = ~0u;
  for (size_t i = 0; i < tables_.size(); ++i) {
    crc ^= bytes[i];
    crc = (crc >> 4) ^ remainders[crc & 15];
    crc = (crc >> 4) ^ remainders[crc & 15];
  }
  return static_cast<uint64_t>(tables_.size()) << 32 | static_cast<uint32_t>(~crc);
}

Result<FreeableBuffer> Program::load_segment(uint32_t index, SegmentKind kind) const {
  const schema::DataSegment segment = program_at(root_).segments()[index];
  if (segment.size() == 0) return FreeableBuffer("", 0);
  return loader_->load(static_cast<size_t>(segment_base_ + segment.offset()), static_cast<size_t>(segment.size()),
                       kind);
}

size_t Program::num_methods() const { return program_at(root_).execution_plan().size(); }

Result<std::string_view> Program::method_name(size_t index) const {
  RL_REQUIRE(index < num_methods(), InvalidArgument, "the program has %zu method%s; the index %zu is too large",
             num_methods(), plural(num_methods()), index);
  return plan_at(root_, static_cast<uint32_t>(index)).name();
}

Result<uint32_t> Program::find_method(std::string_view name) const {
  char names[256];
  size_t length = 0;
  names[0] = '\0';
  for (uint32_t i = 0; i < num_methods(); ++i) {
    const std::string_view candidate = plan_at(root_, i).name();
    if (candidate == name) return i;
    if (!kHasMessages) continue;
    const bool is_room = length + candidate.size() + 8 < sizeof(names);
    const std::string_view shown = is_room ? candidate : std::string_view("...");
    if (length + shown.size() + 3 >= sizeof(names)) continue;
    if (length > 0) {
      std::memcpy(names + length, ", ", 2);
      length += 2;
    }
    std::memcpy(names + length, shown.data(), shown.size());
    length += shown.size();
    names[length] = '\0';
  }
  return fail(Error::NotFound, "the program has no method '%.*s'; it has %s", static_cast<int>(name.size()),
              name.data(), length > 0 ? names : "none");
}

bool Program::has_method(std::string_view name) const {
  for (const schema::ExecutionPlan plan : program_at(root_).execution_plan()) {
    if (plan.name() == name) return true;
  }
  return false;
}

Result<PlanView> Program::plan(std::string_view name) const {
  RL_ASSIGN(const uint32_t index, find_method(name));
  return PlanView(this, index);
}

Result<MethodMeta> Program::method_meta(std::string_view name) const {
  RL_ASSIGN(const PlanView view, plan(name));
  return view.meta();
}

size_t Program::num_named_data() const { return program_at(root_).named_data().size(); }

Result<std::string_view> Program::named_data_key(size_t index) const {
  RL_REQUIRE(index < num_named_data(), InvalidArgument,
             "the program has %zu entries of named data; the index %zu is too large", num_named_data(), index);
  return program_at(root_).named_data()[index].key();
}

bool Program::has_named_data(std::string_view key) const {
  for (const schema::NamedData item : program_at(root_).named_data()) {
    if (item.key() == key) return true;
  }
  return false;
}

Result<FreeableBuffer> Program::load_named_data(std::string_view key) const {
  for (const schema::NamedData item : program_at(root_).named_data()) {
    if (item.key() == key) return load_segment(item.segment_index(), SegmentKind::Backend);
  }
  return fail(Error::NotFound, "the program has no data named '%.*s'", static_cast<int>(key.size()), key.data());
}

}  // namespace rushlight
