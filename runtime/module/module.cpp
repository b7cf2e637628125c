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
  RL_TRY(load_method(name, environment_));
  return methods_.find(name)->second.get();
}

Error Module::load_method(std::string_view name, const Environment& environment, const MemoryManager& memory) {
  unload_method(name);
  RL_ASSIGN(auto loaded, LoadedMethod::load(program_, name, environment, data_, memory));
  methods_.emplace(std::string(name), std::move(loaded));
  return Error::Ok;
}

std::set<std::string> Module::method_names() const {
  std::set<std::string> names;
  for (size_t i = 0; i < program().num_methods(); ++i) names.emplace(program().method_name(i).get());
  return names;
}

Error Module::set_input(std::string_view name, size_t index, const EValue& value) {
  RL_ASSIGN(LoadedMethod * loaded, method(name));
  return loaded->set_input(index, value);
}

Error Module::set_inputs(std::string_view name, Span<const EValue> values) {
  RL_ASSIGN(LoadedMethod * loaded, method(name));
  return loaded->set_inputs(values);
}

Error Module::set_output(std::string_view name, size_t index, const Tensor& output) {
  RL_ASSIGN(LoadedMethod * loaded, method(name));
  return loaded->method().set_output_data_ptr(index, output.mutable_data_ptr(), output.nbytes());
}

Result<std::vector<EValue>> Module::get_outputs(std::string_view name) {
  RL_ASSIGN(LoadedMethod * loaded, method(name));
  std::vector<EValue> outputs;
  outputs.reserve(loaded->method().outputs_size());
  for (size_t i = 0; i < loaded->method().outputs_size(); ++i) outputs.push_back(loaded->method().get_output(i));
  return outputs;
}

void Module::unload_method(std::string_view name) {
  const auto found = methods_.find(name);
  if (found != methods_.end()) methods_.erase(found);
}

Result<std::vector<EValue>> Module::execute(std::string_view name, Span<const EValue> inputs) {
  RL_ASSIGN(LoadedMethod * loaded, method(name));
  RL_TRY(loaded->allocate_outputs());
  RL_TRY(loaded->run(inputs));
  return get_outputs(name);
}

}  // namespace rushlight
