#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rushlight/core/data_loader.h"
#include "rushlight/core/named_data.h"
#include "rushlight/core/result.h"
#include "rushlight/program/method_meta.h"

namespace rushlight {

class PlanView;

// A .pte file past its gate: everything that is read from it later is in bounds, of the type it should have and
// consistent. Immutable: any number of threads may use it.
class Program final {
 public:
  // Reads the tables of the file, checks them whole, and loads the constants. `loader` outlives the program.
  // InvalidProgram, with what is wrong and where, if the file is damaged or not a program; NotSupported if it is of
  // a version that is not known here.
  static Result<Program> load(DataLoader* loader);

  Program(Program&&) noexcept = default;
  Program& operator=(Program&&) noexcept = default;

  size_t num_methods() const;
  // NUL-terminated. InvalidArgument unless `index` is below num_methods().
  Result<std::string_view> method_name(size_t index) const;
  bool has_method(std::string_view name) const;
  // NotFound, with the names that there are, if the program has no such method.
  Result<MethodMeta> method_meta(std::string_view name) const;

  // Blobs that the program stores by name.
  size_t num_named_data() const;
  Result<std::string_view> named_data_key(size_t index) const;  // NUL-terminated
  bool has_named_data(std::string_view key) const;
  Result<FreeableBuffer> load_named_data(std::string_view key) const;

  // For Method: the method as plain views.
  Result<PlanView> plan(std::string_view name) const;

 private:
  friend class PlanView;
  Program() = default;
  Result<uint32_t> find_method(std::string_view name) const;
  Result<FreeableBuffer> load_segment(uint32_t index, SegmentKind kind) const;

  DataLoader* loader_ = nullptr;
  FreeableBuffer tables_;
  FreeableBuffer constants_;
  const uint8_t* root_ = nullptr;
  uint64_t segment_base_ = 0;
};

// Whether the first bytes of a file (at least 8) are those of a program.
bool is_program_header(const void* data, size_t size);

}  // namespace rushlight
