#include "executorch/extension/module/module.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/message.h"
#include "executorch/extension/data_loader/file_data_loader.h"
#include "executorch/extension/data_loader/mmap_data_loader.h"
#include "executorch/extension/flat_tensor/flat_tensor_data_map.h"
#include "executorch/extension/named_data_map/merged_data_map.h"
#include "executorch/input_error.h"
#include "executorch/runtime/platform/runtime.h"
#include "rushlight/module/module.h"

namespace executorch {
namespace extension {
namespace module {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Result;

template <typename Loader>
Result<std::unique_ptr<runtime::DataLoader>> owned(Result<Loader> loader) {
  if (!loader.ok()) return loader.error();
  return std::unique_ptr<runtime::DataLoader>(std::make_unique<Loader>(std::move(*loader)));
}

Result<std::unique_ptr<runtime::DataLoader>> open(const std::string& path, Module::LoadMode mode) {
  using Lock = MmapDataLoader::MlockConfig;
  switch (mode) {
    case Module::LoadMode::File:
      return owned(FileDataLoader::from(path.c_str()));
    case Module::LoadMode::Mmap:
      return owned(MmapDataLoader::from(path.c_str(), Lock::NoMlock));
    case Module::LoadMode::MmapUseMlock:
      return owned(MmapDataLoader::from(path.c_str(), Lock::UseMlock));
    case Module::LoadMode::MmapUseMlockIgnoreErrors:
      return owned(MmapDataLoader::from(path.c_str(), Lock::UseMlockIgnoreErrors));
    case Module::LoadMode::MmapUseMadvise:
      return owned(MmapDataLoader::from(path.c_str(), Lock::UseMadvise));
  }
  return Error::InvalidArgument;
}

}  // namespace

// A method and its memories.
struct Module::MethodHolder {
  std::vector<runtime::Span<uint8_t>> spans;
  std::unique_ptr<runtime::HierarchicalAllocator> planned;
  std::unique_ptr<runtime::MemoryManager> memory;
  std::vector<Kernel> kernels;
  std::unique_ptr<Method> method;
};

Module::Module(const std::string& file_path, const LoadMode load_mode, std::unique_ptr<runtime::EventTracer> tracer,
               std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : Module(file_path, std::vector<std::string>(), load_mode, std::move(tracer), std::move(memory_allocator),
             std::move(temp_allocator), share_memory_arenas) {}

Module::Module(const std::string& file_path, const std::string& data_map_path, const LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> tracer, std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : Module(file_path, data_map_path.empty() ? std::vector<std::string>() : std::vector<std::string>{data_map_path},
             load_mode, std::move(tracer), std::move(memory_allocator), std::move(temp_allocator),
             share_memory_arenas) {}

Module::Module(const std::string& file_path, std::vector<std::string> data_files, const LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> tracer, std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : file_path_(file_path),
      data_files_(std::move(data_files)),
      load_mode_(load_mode),
      memory_allocator_(std::move(memory_allocator)),
      temp_allocator_(std::move(temp_allocator)),
      event_tracer_(std::move(tracer)),
      share_memory_arenas_(share_memory_arenas) {
  runtime::runtime_init();
}

Module::Module(std::unique_ptr<runtime::DataLoader> data_loader,
               std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, std::unique_ptr<runtime::EventTracer> tracer,
               std::unique_ptr<runtime::DataLoader> data_map_loader, bool share_memory_arenas)
    : data_loader_(std::move(data_loader)),
      memory_allocator_(std::move(memory_allocator)),
      temp_allocator_(std::move(temp_allocator)),
      event_tracer_(std::move(tracer)),
      share_memory_arenas_(share_memory_arenas) {
  if (data_map_loader) data_map_loaders_.push_back(std::move(data_map_loader));
  runtime::runtime_init();
}

Module::Module(std::shared_ptr<Program> program, std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
               std::unique_ptr<runtime::MemoryAllocator> temp_allocator, std::unique_ptr<runtime::EventTracer> tracer,
               std::unique_ptr<runtime::DataLoader> data_map_loader, bool share_memory_arenas)
    : program_(std::move(program)),
      memory_allocator_(std::move(memory_allocator)),
      temp_allocator_(std::move(temp_allocator)),
      event_tracer_(std::move(tracer)),
      share_memory_arenas_(share_memory_arenas) {
  if (data_map_loader) data_map_loaders_.push_back(std::move(data_map_loader));
  runtime::runtime_init();
}

Module::~Module() { methods_.clear(); }

Error Module::load(const Program::Verification verification) {
  if (!program_) {
    if (!data_loader_) {
      RL_ASSIGN(data_loader_, open(file_path_, load_mode_));
    }
    Result<Program> program = Program::load(data_loader_.get(), verification);
    if (!program.ok() && !file_path_.empty()) ET_LOG(Error, "the program %s cannot be loaded", file_path_.c_str());
    if (!program.ok()) return program.error();
    // The program may outlive this module, and then still uses the loader.
    program_ = std::shared_ptr<Program>(new Program(std::move(*program)),
                                        [loader = data_loader_](const Program* loaded) { delete loaded; });
  }
  return named_data_maps_.empty() ? load_data_maps() : Error::Ok;
}

Error Module::load(const LoadBackendOptionsMap& backend_options, const Program::Verification verification) {
  LoadBackendOptionsMap copy;
  std::vector<std::vector<runtime::BackendOption>> storage;
  storage.reserve(backend_options.size());
  for (size_t i = 0; i < backend_options.size(); ++i) {
    const LoadBackendOptionsMap::EntryView entry = backend_options.entry_at(i);
    storage.emplace_back(entry.options.begin(), entry.options.end());
    RL_TRY(copy.set_options(entry.backend_id, storage.back()));
  }
  backend_options_storage_ = std::move(storage);
  backend_options_map_ = copy;
  return load(verification);
}

Error Module::load_data_maps() {
  std::vector<std::unique_ptr<runtime::DataLoader>> loaders;
  for (const std::string& path : data_files_) {
    RL_ASSIGN(auto loader, open(path, load_mode_));
    loaders.push_back(std::move(loader));
  }
  std::vector<std::unique_ptr<NamedDataMap>> maps;
  std::vector<const NamedDataMap*> all;
  for (const auto* opened : {&data_map_loaders_, &loaders}) {
    for (const auto& loader : *opened) {
      RL_ASSIGN(FlatTensorDataMap map, FlatTensorDataMap::load(loader.get()));
      all.push_back(maps.emplace_back(std::make_unique<FlatTensorDataMap>(std::move(map))).get());
    }
  }
  if (all.size() > 1) {
    RL_ASSIGN(MergedDataMap merged, MergedDataMap::load(all));
    merged_data_map_ = std::make_unique<MergedDataMap>(std::move(merged));
  }
  // Before this line, an error leaves the module as it was, so that the next load tries again.
  std::move(loaders.begin(), loaders.end(), std::back_inserter(data_map_loaders_));
  data_files_.clear();
  named_data_maps_ = std::move(maps);
  return Error::Ok;
}

// Allocates shared planned memories, which are large enough for each method.
Error Module::share_arenas() {
  if (!shared_arenas_.empty()) return Error::Ok;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < program_->num_methods(); ++i) {
    RL_ASSIGN(const char* name, program_->get_method_name(i));
    RL_ASSIGN(const MethodMeta meta, program_->method_meta(name));
    sizes.resize(std::max(sizes.size(), meta.num_memory_planned_buffers()));
    for (size_t j = 0; j < meta.num_memory_planned_buffers(); ++j) {
      sizes[j] = std::max(sizes[j], static_cast<size_t>(*meta.memory_planned_buffer_size(j)));
    }
  }
  constexpr size_t kAlignment = 64;
  for (const size_t size : sizes) shared_arenas_.emplace_back(size + kAlignment);
  return Error::Ok;
}

Result<size_t> Module::num_methods() {
  RL_TRY(load());
  return program_->num_methods();
}

Result<std::unordered_set<std::string>> Module::method_names() {
  RL_TRY(load());
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < program_->num_methods(); ++i) names.emplace(*program_->get_method_name(i));
  return names;
}

Result<MethodMeta> Module::method_meta(const std::string& method_name) {
  RL_TRY(load());
  return program_->method_meta(method_name.c_str());
}

Error Module::load_method(const std::string& method_name, runtime::HierarchicalAllocator* planned_memory,
                          runtime::EventTracer* event_tracer, const LoadBackendOptionsMap* backend_options,
                          std::vector<Kernel> kernel_registry) {
  if (is_method_loaded(method_name)) return Error::Ok;
  RL_TRY(load());
  auto holder = std::make_shared<MethodHolder>();
  holder->kernels = std::move(kernel_registry);
  if (!planned_memory && share_memory_arenas_) {
    RL_TRY(share_arenas());
    constexpr uintptr_t kAlignment = 64;
    for (std::vector<uint8_t>& arena : shared_arenas_) {
      uint8_t* first = arena.data();
      first += (kAlignment - reinterpret_cast<uintptr_t>(first) % kAlignment) % kAlignment;
      holder->spans.emplace_back(first, arena.size() - kAlignment);
    }
    holder->planned = std::make_unique<runtime::HierarchicalAllocator>(
        runtime::Span<runtime::Span<uint8_t>>(holder->spans.data(), holder->spans.size()));
    planned_memory = holder->planned.get();
  }
  holder->memory =
      std::make_unique<runtime::MemoryManager>(memory_allocator_.get(), planned_memory, temp_allocator_.get());
  const NamedDataMap* data = merged_data_map_           ? merged_data_map_.get()
                             : named_data_maps_.empty() ? nullptr
                                                        : named_data_maps_.front().get();
  RL_ASSIGN(Method method, program_->load_method_with_memory(method_name.c_str(), holder->memory.get(),
                                                             event_tracer ? event_tracer : event_tracer_.get(), data,
                                                             backend_options ? backend_options : &backend_options_map_,
                                                             holder->kernels));
  holder->method = std::make_unique<Method>(std::move(method));
  methods_[method_name] = std::move(holder);
  return Error::Ok;
}

Result<Method*> Module::method(const std::string& method_name) {
  RL_TRY(load_method(method_name));
  return methods_[method_name]->method.get();
}

Result<std::vector<EValue>> Module::execute(const std::string& method_name, const std::vector<EValue>& input_values) {
  RL_ASSIGN(Method * loaded, method(method_name));
  const ::rushlight::EValue* const values = input_values.data();
  ::rushlight::LoadedMethod& native = loaded->native();
  const Error error = native.set_inputs({values, input_values.size()});
  RL_TRY(runtime::internal::log_input_error(error, native.method().meta(), 0, {values, input_values.size()}));
  RL_TRY(loaded->execute());
  return get_outputs(method_name);
}

Result<EValue> Module::get(const std::string& method_name, const std::vector<EValue>& input_values) {
  RL_ASSIGN(const std::vector<EValue> outputs, execute(method_name, input_values));
  if (outputs.empty()) return Error::InvalidArgument;
  return outputs.front();
}

Error Module::set_input(const std::string& method_name, const EValue& input_value, size_t input_index) {
  RL_ASSIGN(Method * loaded, method(method_name));
  return loaded->set_input(input_value, input_index);
}

Error Module::set_inputs(const std::string& method_name, const std::vector<EValue>& input_values) {
  RL_ASSIGN(Method * loaded, method(method_name));
  return loaded->set_inputs({input_values.data(), input_values.size()});
}

Error Module::set_output(const std::string& method_name, EValue output_value, size_t output_index) {
  RL_ASSIGN(Method * loaded, method(method_name));
  ET_CHECK_OR_RETURN_ERROR(output_value.isTensor(), InvalidArgument, "output %zu must be a tensor, not a %s",
                           output_index, runtime::tag_to_string(output_value.tag));
  const aten::Tensor& tensor = output_value.toTensor();
  return loaded->set_output_data_ptr(tensor.mutable_data_ptr(), tensor.nbytes(), output_index);
}

Error Module::set_outputs(const std::string& method_name, const std::vector<EValue>& output_values) {
  RL_ASSIGN(Method * loaded, method(method_name));
  ET_CHECK_OR_RETURN_ERROR(output_values.size() == loaded->outputs_size(), InvalidArgument,
                           "the method has %zu output%s, but %zu %s given", loaded->outputs_size(),
                           ::rushlight::plural(loaded->outputs_size()), output_values.size(),
                           output_values.size() == 1 ? "is" : "are");
  for (size_t i = 0; i < output_values.size(); ++i) RL_TRY(set_output(method_name, output_values[i], i));
  return Error::Ok;
}

Result<std::vector<EValue>> Module::get_outputs(const std::string& method_name) {
  RL_ASSIGN(Method * loaded, method(method_name));
  std::vector<EValue> outputs(loaded->outputs_size());
  RL_TRY(loaded->get_outputs(outputs.data(), outputs.size()));
  return outputs;
}

Result<EValue> Module::get_output(const std::string& method_name, size_t output_index) {
  RL_ASSIGN(Method * loaded, method(method_name));
  ET_CHECK_OR_RETURN_ERROR(output_index < loaded->outputs_size(), InvalidArgument,
                           "the method has %zu output%s; the index %zu is too large", loaded->outputs_size(),
                           ::rushlight::plural(loaded->outputs_size()), output_index);
  return loaded->get_output(output_index);
}

}  // namespace module
}  // namespace extension
}  // namespace executorch
