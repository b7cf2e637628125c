#include "program/validator.h"

#include "program/plan_validator.h"
#include "program/tables.h"

namespace rushlight {
namespace {

Error check_segments(const schema::Program& program, const FileLayout& layout) {
  const auto segments = program.segments();
  const uint64_t segment_size = layout.segment_size;
  for (uint32_t i = 0; i < segments.size(); ++i) {
    const uint64_t offset = segments[i].offset();
    const uint64_t size = segments[i].size();
    RL_REQUIRE(offset <= segment_size && size <= segment_size - offset, InvalidProgram,
               "segment %u (%llu bytes at offset %llu) is outside of the %llu bytes of segments", i,
               static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
               static_cast<unsigned long long>(segment_size));
  }
  return Error::Ok;
}

Error check_subsegments(const schema::Program& program, const schema::SubsegmentOffsets& table, const char* what) {
  if (table.offsets().empty()) return Error::Ok;
  const uint32_t segment = table.segment_index();
  RL_REQUIRE(segment < program.segments().size(), InvalidProgram, "the %s are in segment %u, but there are %u", what,
             segment, program.segments().size());
  const uint64_t size = program.segments()[segment].size();
  for (uint32_t i = 0; i < table.offsets().size(); ++i) {
    RL_REQUIRE(table.offsets()[i] <= size, InvalidProgram, "offset %u of the %s is outside of its segment", i, what);
  }
  return Error::Ok;
}

Error check_named_data(const schema::Program& program) {
  const auto named = program.named_data();
  for (uint32_t i = 0; i < named.size(); ++i) {
    RL_REQUIRE(!named[i].key().empty(), InvalidProgram, "named data %u has an empty key", i);
    RL_REQUIRE(named[i].segment_index() < program.segments().size(), InvalidProgram,
               "named data '%.80s' is in segment %u, but there are %u", named[i].key().data(), named[i].segment_index(),
               program.segments().size());
  }
  return Error::Ok;
}

Error check_method_names(const schema::Program& program) {
  const auto plans = program.execution_plan();
  RL_REQUIRE(plans.size() <= kMaxMethods, InvalidProgram, "the program has %u methods; at most %u are supported",
             plans.size(), kMaxMethods);
  for (uint32_t i = 0; i < plans.size(); ++i) {
    const std::string_view name = plans[i].name();
    RL_REQUIRE(!name.empty(), InvalidProgram, "method %u has an empty name", i);
    for (uint32_t j = 0; j < i; ++j) {
      RL_REQUIRE(plans[j].name() != name, InvalidProgram, "two methods have the name '%.80s'", name.data());
    }
  }
  return Error::Ok;
}

}  // namespace

Error check_program(const uint8_t* root, const FileLayout& layout) {
  const schema::Program program = program_at(root);
  RL_REQUIRE(program.version() == 0, NotSupported, "the program has schema version %u; this runtime supports version 0",
             program.version());
  RL_TRY(check_segments(program, layout));
  RL_TRY(check_subsegments(program, program.constant_segment(), "constants"));
  for (uint32_t i = 0; i < program.mutable_data_segments().size(); ++i) {
    RL_TRY(check_subsegments(program, program.mutable_data_segments()[i], "initial values"));
  }
  RL_TRY(check_named_data(program));
  RL_TRY(check_method_names(program));
  // Several tables may refer to the same table, so a small file could describe a very large program.
  uint64_t budget = 4 * layout.tables_size + 1024;
  for (uint32_t i = 0; i < program.execution_plan().size(); ++i) {
    PlanValidator validator(program, program.execution_plan()[i], &budget);
    RL_TRY(validator.check());
  }
  return Error::Ok;
}

}  // namespace rushlight
