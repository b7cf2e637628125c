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

// A validated .pte file: all data that is read from it later is inside the file, has the right type and is consistent.
// A program never changes, and any number of threads may use it.
class Program final {
 public:
  // Reads and validates the tables of the file, and loads the constants. `loader` must outlive the program. Returns
  // InvalidProgram if the file is damaged or not a program (the message contains the reason and the position), and
  // NotSupported if its version is unknown.
  static Result<Program> load(DataLoader* loader);

  Program(Program&&) noexcept = default;
  Program& operator=(Program&&) noexcept = default;

  // Returns a fingerprint of the program: the CRC-32 of the tables in the lower 32 bits, and the number of bytes of the
  // tables in the upper 32 bits. Each call computes it again.
  uint64_t fingerprint() const;

  // Compares the bytes of the file with the SHA-256 digest that the file contains. Returns InvalidProgram if they
  // differ or if the file contains no digest. The digest detects accidental changes only: a person who changes the file
  // can also write a new digest.
  Error verify_digest() const;

  // Returns the number of methods.
  size_t num_methods() const;
  // Returns the name of a method, which ends with NUL, or InvalidArgument if `index` is too large.
  Result<std::string_view> method_name(size_t index) const;
  bool has_method(std::string_view name) const;
  // Returns the description of a method, or NotFound with a message that lists the existing names.
  Result<MethodMeta> method_meta(std::string_view name) const;

  // The data that the program stores by name.
  size_t num_named_data() const;
  Result<std::string_view> named_data_key(size_t index) const;  // ends with NUL
  bool has_named_data(std::string_view key) const;
  Result<FreeableBuffer> load_named_data(std::string_view key) const;

  // Returns the tables of a method, for Method::load().
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

// Returns whether a file with these first bytes is a program. `size` must be at least 8.
bool is_program_header(const void* data, size_t size);

}  // namespace rushlight
