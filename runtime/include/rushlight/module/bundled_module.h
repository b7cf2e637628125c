#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "rushlight/core/data_loader.h"
#include "rushlight/module/file_loader.h"
#include "rushlight/module/module.h"
#include "rushlight/program/bundled_program.h"

namespace rushlight {

// Runs the methods of a bundled program on their test cases. One thread uses it at a time.
class BundledModule {
 public:
  // Loads a bundled program from a file, or from `size` bytes at `data`. The bytes must be aligned to 16 and stay
  // valid; the caller owns them. Returns the errors of BundledProgram::load() and Module::load().
  static Result<std::unique_ptr<BundledModule>> from_file(const char* path, const Module::Options& options);
  static Result<std::unique_ptr<BundledModule>> from_buffer(const void* data, size_t size,
                                                            const Module::Options& options);

  const BundledProgram& bundled_program() const { return bundled_program_; }
  Module& module() { return *module_; }

  // Executes a method with the inputs of a test case. Returns the outputs, which are valid until the next run of the
  // method, or the errors of load_bundled_input() and Method::execute().
  Result<std::vector<EValue>> execute(std::string_view method_name, size_t testset_idx);
  // Compares the outputs of the last run of a method with the expected outputs of a test case, see
  // rushlight::verify_method_outputs().
  Error verify_method_outputs(std::string_view method_name, size_t testset_idx, double rtol = 1e-5, double atol = 1e-8);

 private:
  explicit BundledModule(const BundledProgram& bundled_program) : bundled_program_(bundled_program) {}
  std::unique_ptr<MmapDataLoader> loader_;
  FreeableBuffer file_;
  BundledProgram bundled_program_;
  EventTracer* tracer_ = nullptr;
  std::unique_ptr<Module> module_;
};

}  // namespace rushlight
