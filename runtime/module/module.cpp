#include "rushlight/module/module.h"

#include <utility>

namespace rushlight {

Result<std::unique_ptr<Module>> Module::load(const char* path, const Options& options) {
  RL_ASSIGN(auto program, LoadedProgram::from_file(path, options.mode));
  return make(std::move(program), options);
}

Result<std::unique_ptr<Module>> Module::load_buffer(const void* data, size_t size, const Options& options) {
  RL_ASSIGN(auto program, LoadedProgram::from_buffer(data, size));
  return make(std::move(program), options);
}

Result<std::unique_ptr<Module>> Module::make(std::shared_ptr<LoadedProgram> program, const Options& options) {
  std::unique_ptr<Module> module(new Module());
  module->program_ = std::move(program);
  module->environment_ = options.environment;
  if (!options.data_paths.empty()) {
    std::vector<const char*> paths;
    paths.reserve(options.data_paths.size());
    for (const std::string& path : options.data_paths) paths.push_back(path.c_str());
    RL_ASSIGN(module->data_, LoadedData::from_files(Span<const char* const>(paths.data(), paths.size())));
  }
  return module;
}

Result<LoadedMethod*> Module::method(std::string_view name) {
  const auto found = methods_.find(name);
  if (found != methods_.end()) return found->second.get();
  RL_ASSIGN(auto loaded, LoadedMethod::load(program_, name, environment_, data_));
  RL_TRY(loaded->allocate_outputs());
  return methods_.emplace(std::string(name), std::move(loaded)).first->second.get();
}

void Module::unload_method(std::string_view name) {
  const auto found = methods_.find(name);
  if (found != methods_.end()) methods_.erase(found);
}

Result<std::vector<EValue>> Module::execute(std::string_view name, Span<const EValue> inputs) {
  RL_ASSIGN(LoadedMethod * loaded, method(name));
  RL_TRY(loaded->run(inputs));
  std::vector<EValue> outputs;
  outputs.reserve(loaded->method().outputs_size());
  for (size_t i = 0; i < loaded->method().outputs_size(); ++i) outputs.push_back(loaded->method().get_output(i));
  return outputs;
}

}  // namespace rushlight
