#include <algorithm>
#include <cstring>
#include <string_view>

#include "backends/cpu/schema_generated.h"
#include "backends/xnnpack/schema_generated.h"
#include "mutate.h"
#include "program/bundled_program_generated.h"
#include "program/extended_header.h"
#include "program/flat_tensor_generated.h"
#include "program/schema_generated.h"
#include "trace/etdump_generated.h"

namespace rushlight::fuzz {
namespace {

using flatbuffer::load;

constexpr size_t kHeaderStart = 8, kSegmentAlignment = 64;

void pad(Bytes& bytes, size_t alignment) { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment); }

template <class T>
void store(Bytes& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

// u8[4], "XH00", u16 length, u32 start and size of the tables, u32 start and u64 size of the constants.
constexpr size_t kXnnpackHeader = 30;

bool is_xnnpack(const Bytes& payload) {
  return payload.size() >= kXnnpackHeader && std::memcmp(payload.data() + 4, "XH00", 4) == 0;
}

void mutate_xnnpack(Bytes& payload, Random& random) {
  const size_t start = load<uint32_t>(payload.data() + 10), size = load<uint32_t>(payload.data() + 14);
  const size_t constants = load<uint32_t>(payload.data() + 18);
  if (random.one_in(24) || start > payload.size() || size > payload.size() - start) {
    return mutate_bytes(payload, 8, kXnnpackHeader, random);
  }
  const auto at = [&](size_t place) { return payload.begin() + static_cast<ptrdiff_t>(place); };
  Bytes tables(at(start), at(start + size));
  if (constants < payload.size() && constants >= start + size && random.one_in(12)) {
    return mutate_bytes(payload, constants, payload.size(), random);
  }
  if (!mutate_tables(xnnpack::schema::kXNNGraphSchema, tables, random)) {
    return mutate_bytes(payload, 0, payload.size(), random);
  }
  if (tables.size() == size) {
    std::copy(tables.begin(), tables.end(), at(start));
    return;
  }
  Bytes grown(payload.begin(), at(start));
  grown.insert(grown.end(), tables.begin(), tables.end());
  pad(grown, 16);
  store(grown, 14, static_cast<uint32_t>(tables.size()));
  if (constants <= payload.size() && constants >= start + size) {
    store(grown, 18, static_cast<uint32_t>(grown.size()));
    grown.insert(grown.end(), at(constants), payload.end());
  }
  payload = std::move(grown);
}

void mutate_payload(Bytes& payload, Random& random) {
  if (is_xnnpack(payload)) return mutate_xnnpack(payload, random);
  if (payload.size() >= 8 && std::memcmp(payload.data() + 4, cpu::schema::kPlanSchema.identifier, 4) == 0 &&
      mutate_tables(cpu::schema::kPlanSchema, payload, random)) {
    return;
  }
  mutate_bytes(payload, 0, payload.size(), random);
}

// The parts of a file: tables, and segments after the tables if the header contains their offset.
struct Parts {
  FileLayout layout;
  Bytes tables, segments;
};

bool split(Format format, const Bytes& file, Parts* parts) {
  const auto read = format == Format::Program ? read_program_layout : read_flat_tensor_layout;
  if (!read(file.data(), std::min(file.size(), kHeaderBytes), file.size(), &parts->layout, nullptr)) return false;
  const auto tables_end = file.begin() + static_cast<ptrdiff_t>(parts->layout.tables_size);
  parts->tables.assign(file.begin(), tables_end);
  if (parts->layout.segment_base > 0) {
    parts->segments.assign(file.begin() + static_cast<ptrdiff_t>(parts->layout.segment_base), file.end());
  }
  return true;
}

void join(Format format, const Parts& parts, Bytes& file) {
  const FileLayout& layout = parts.layout;
  const bool has_header = file.size() >= kHeaderBytes && std::memcmp(file.data() + kHeaderStart, "eh00", 4) == 0;
  const size_t old_segments = layout.segment_base == 0 ? 0 : file.size() - layout.segment_base;
  size_t base = layout.segment_base;
  if (parts.tables.size() > layout.tables_size && base != 0) {
    base = std::max(base, (parts.tables.size() + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment);
  }
  file = parts.tables;
  if (base != 0) {
    file.resize(std::max(base, file.size()));
    file.insert(file.end(), parts.segments.begin(), parts.segments.end());
  }
  const bool changed = parts.tables.size() != layout.tables_size || parts.segments.size() != old_segments;
  if (!changed || file.size() < kHeaderBytes) return;
  if (format == Format::Program && has_header) {
    store<uint64_t>(file, kHeaderStart + 8, parts.tables.size());
    store<uint64_t>(file, kHeaderStart + 16, base);
    if (load<uint32_t>(file.data() + kHeaderStart + 4) >= 32) {
      store<uint64_t>(file, kHeaderStart + 24, parts.segments.size());
    }
  } else if (format == Format::DataFile) {
    store<uint64_t>(file, kHeaderStart + 16, parts.tables.size() - load<uint64_t>(file.data() + kHeaderStart + 8));
    store<uint64_t>(file, kHeaderStart + 24, base);
    store<uint64_t>(file, kHeaderStart + 32, parts.segments.size());
  }
}

// Changes the payload of one delegate. A payload that grows moves to the end of the segments. If it is in the tables,
// the change is discarded. Returns false if there is no payload.
bool mutate_delegate(Parts& parts, Random& random) {
  if (!flatbuffer::verify(schema::kProgramSchema, parts.tables.data(), parts.tables.size(), nullptr)) return false;
  const auto program = flatbuffer::root<schema::Program>(parts.tables.data());
  std::vector<schema::BackendDelegate> delegates;
  for (const auto plan : program.execution_plan()) {
    for (const auto delegate : plan.delegates()) delegates.push_back(delegate);
  }
  if (delegates.empty()) return false;
  const auto reference = delegates[random.below(delegates.size())].processed();
  const size_t index = reference.index();
  if (reference.location() == schema::DataLocation::INLINE) {
    if (index >= program.backend_delegate_data().size()) return false;
    const auto data = program.backend_delegate_data()[index].data();
    Bytes payload(data.data(), data.data() + data.size());
    mutate_payload(payload, random);
    const size_t at = static_cast<size_t>(data.data() - parts.tables.data());
    std::copy_n(payload.begin(), std::min<size_t>(payload.size(), data.size()),
                parts.tables.begin() + static_cast<ptrdiff_t>(at));
    return true;
  }
  if (index >= program.segments().size()) return false;
  const auto segment = program.segments()[index];
  const uint64_t offset = segment.offset(), size = segment.size();
  if (offset > parts.segments.size() || size > parts.segments.size() - offset) return false;
  const auto begin = parts.segments.begin() + static_cast<ptrdiff_t>(offset);
  Bytes payload(begin, begin + static_cast<ptrdiff_t>(size));
  mutate_payload(payload, random);
  if (payload.size() <= size) {
    std::copy(payload.begin(), payload.end(), begin);
    return true;
  }
  pad(parts.segments, kSegmentAlignment);
  const uint64_t moved = parts.segments.size();
  parts.segments.insert(parts.segments.end(), payload.begin(), payload.end());
  // The two numbers are at the addresses that the accessors read.
  for (size_t at = 0; at + 16 <= parts.tables.size(); at += 8) {
    const uint64_t first = load<uint64_t>(parts.tables.data() + at),
                   second = load<uint64_t>(parts.tables.data() + at + 8);
    if ((first == offset && second == size) || (first == size && second == offset)) {
      store<uint64_t>(parts.tables, at, first == offset ? moved : payload.size());
      store<uint64_t>(parts.tables, at + 8, first == offset ? payload.size() : moved);
      break;
    }
  }
  return true;
}

void mutate_segmented(Format format, Bytes& file, Random& random) {
  Parts parts;
  if (random.one_in(40) || !split(format, file, &parts)) {
    return mutate_bytes(file, 0, std::min<size_t>(file.size(), random.one_in(2) ? 64 : SIZE_MAX), random);
  }
  const size_t choice = random.below(16);
  if (choice == 0 && !parts.segments.empty()) {
    mutate_bytes(parts.segments, 0, parts.segments.size(), random);
  } else if (format == Format::Program && choice < 9 && mutate_delegate(parts, random)) {
    // changed
  } else if (!mutate_tables(format == Format::Program ? schema::kProgramSchema : schema::flat_tensor::kFlatTensorSchema,
                            parts.tables, random)) {
    mutate_bytes(parts.tables, 0, parts.tables.size(), random);
  }
  join(format, parts, file);
}

void mutate_bundle(Bytes& file, Random& random) {
  const auto& schema = schema::bundled_program::kBundledProgramSchema;
  if (random.one_in(2) && flatbuffer::verify(schema, file.data(), file.size(), nullptr)) {
    const auto program = flatbuffer::root<schema::bundled_program::BundledProgram>(file.data()).program();
    Bytes inner(program.data(), program.data() + program.size());
    mutate_segmented(Format::Program, inner, random);
    if (inner.size() <= program.size() && !inner.empty()) {
      std::copy(inner.begin(), inner.end(), file.begin() + (program.data() - file.data()));
    }
    return;
  }
  if (!mutate_tables(schema, file, random)) mutate_bytes(file, 0, file.size(), random);
}

}  // namespace

void mutate_bytes(Bytes& bytes, size_t begin, size_t end, Random& random) {
  end = std::min(end, bytes.size());
  if (end < begin + 8) return;
  for (size_t times = 1 + random.below(3); times > 0; --times) {
    const size_t size = size_t{1} << random.below(4);
    const size_t at = begin + random.below(end - begin - size + 1);
    uint64_t number = 0;
    std::memcpy(&number, bytes.data() + at, size);
    number = mutate_number(number, size, random);
    std::memcpy(bytes.data() + at, &number, size);
  }
}

void mutate_file(Format format, Bytes& file, Random& random) {
  size_t times = 1;
  while (times < 4 && random.one_in(3)) ++times;
  for (; times > 0; --times) {
    switch (format) {
      case Format::Program:
      case Format::DataFile:
        mutate_segmented(format, file, random);
        break;
      case Format::BundledProgram:
        mutate_bundle(file, random);
        break;
      case Format::EtDump:
        if (!mutate_tables(schema::etdump::kETDumpSchema, file, random)) mutate_bytes(file, 0, file.size(), random);
        break;
      case Format::CpuPlan:
      case Format::XnnpackPayload:
        mutate_payload(file, random);
        break;
    }
  }
  if (random.one_in(64) && !file.empty()) file.resize(random.below(file.size()));
}

}  // namespace rushlight::fuzz
