#include "rushlight/module/bundled_module.h"

#include <utility>

#include "rushlight/exec/bundled_test.h"

namespace rushlight {

Result<std::unique_ptr<BundledModule>> BundledModule::from_file(const char* path, const Module::Options& options) {
  RL_ASSIGN(auto loader, MmapDataLoader::open(path));
  RL_ASSIGN(const size_t size, loader->size());
  RL_REQUIRE(size > 0, InvalidProgram, "%.200s: not a bundled program: the file is empty", path);
  RL_ASSIGN(FreeableBuffer file, loader->load(0, size, SegmentKind::Program));
  auto loaded = from_buffer(file.data(), size, options);
  if (!loaded.ok()) return fail(loaded.error(), "%.200s: %s", path, last_error_message());
  (*loaded)->loader_ = std::move(loader);
  (*loaded)->file_ = std::move(file);
  return loaded;
}

Result<std::unique_ptr<BundledModule>> BundledModule::from_buffer(const void* data, size_t size,
                                                                  const Module::Options& options) {
  RL_ASSIGN(const BundledProgram bundle, BundledProgram::load(data, size));
  const Span<const uint8_t> program = bundle.program_data();
  std::unique_ptr<BundledModule> loaded(new BundledModule(bundle));
  RL_ASSIGN(loaded->module_, Module::load_buffer(program.data(), program.size(), options));
  loaded->tracer_ = options.environment.tracer;
  return loaded;
}

Result<std::vector<EValue>> BundledModule::execute(std::string_view method_name, size_t testset_idx) {
  RL_ASSIGN(LoadedMethod * loaded, module_->method(method_name));
  Method& method = loaded->method();
  RL_TRY(load_bundled_input(method, bundled_program_, testset_idx));
  if (tracer_) tracer_->set_bundled_input_index(static_cast<int32_t>(testset_idx));
  const Error error = method.execute();
  if (tracer_) tracer_->set_bundled_input_index(-1);
  RL_TRY(error);
  std::vector<EValue> outputs;
  outputs.reserve(method.outputs_size());
  for (size_t i = 0; i < method.outputs_size(); ++i) outputs.push_back(method.get_output(i));
  return outputs;
}

Error BundledModule::verify_method_outputs(std::string_view method_name, size_t testset_idx, double rtol, double atol) {
  RL_ASSIGN(LoadedMethod * loaded, module_->method(method_name));
  return rushlight::verify_method_outputs(loaded->method(), bundled_program_, testset_idx, rtol, atol);
}

}  // namespace rushlight
