#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/message.h"
#include "executorch/extension/threadpool/threadpool.h"
#include "executorch/input_error.h"
#include "executorch/register_backend.h"
#include "executorch/registry.h"
#include "executorch/runtime/executor/method.h"
#include "executorch/runtime/executor/program.h"
#include "rushlight/module/module.h"

namespace executorch {
namespace runtime {

Program::Program(std::shared_ptr<::rushlight::LoadedProgram> native)
    : native_(std::move(native)), data_(std::make_unique<internal::ProgramDataMap>(&native_->program())) {}
Program::Program(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::load(DataLoader* loader, Verification) {
  auto native = ::rushlight::LoadedProgram::from_loader(loader->native());
  if (!native.ok()) {
    const Error error = internal::log_error(native.error());
    const auto size = loader->size();
    if (error == Error::InvalidProgram && size.ok() && *size < kMinHeadBytes) return Error::InvalidArgument;
    return error == Error::NotSupported ? Error::InvalidProgram : error;  // another version of the format
  }
  return Program(std::move(*native));
}

size_t Program::num_methods() const { return native_->program().num_methods(); }

Result<const char*> Program::get_method_name(size_t method_index) const {
  auto name = native_->program().method_name(method_index);
  if (!name.ok()) return internal::log_error(name.error());
  return name->data();
}

Result<MethodMeta> Program::method_meta(const char* method_name) const {
  auto meta = native_->program().method_meta(method_name);
  if (!meta.ok()) return internal::log_argument_error(meta.error());
  return MethodMeta(*meta);
}

Result<const char*> Program::get_output_flattening_encoding(const char* method_name) const {
  auto meta = native_->program().method_meta(method_name);
  if (!meta.ok()) return internal::log_argument_error(meta.error());
  const std::string_view text = meta->encoded_output_spec();
  return text.empty() ? "" : text.data();
}

Result<const NamedDataMap*> Program::get_named_data_map() const {
  if (native_->program().num_named_data() == 0) return Error::NotFound;
  return static_cast<const NamedDataMap*>(data_.get());
}

Program::HeaderStatus Program::check_header(const void* data, size_t size) {
  if (size < kMinHeadBytes) return ShortData;
  if (::rushlight::is_program_header(data, size)) return CompatibleVersion;
  // The file identifier is "ET" and two digits, the version of the format.
  return std::memcmp(static_cast<const char*>(data) + 4, "ET", 2) == 0 ? IncompatibleVersion : NotPresent;
}

Result<const TensorLayout> internal::ProgramDataMap::get_tensor_layout(std::string_view) const {
  return Error::NotImplemented;  // a program stores only bytes by name
}

Error internal::ProgramDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  RL_ASSIGN(FreeableBuffer data, get_data(key));
  ET_CHECK_OR_RETURN_ERROR(size <= data.size(), InvalidArgument, "an entry has %zu bytes, but %zu bytes are requested",
                           data.size(), size);
  std::memcpy(buffer, data.data(), size);
  return Error::Ok;
}

Result<const char*> internal::ProgramDataMap::get_key(uint32_t index) const {
  auto key = program_->named_data_key(index);
  if (!key.ok()) return key.error();
  return key->data();
}

namespace {

// Converts the options of all backends of a method to the runtime's types.
class NativeOptions {
 public:
  explicit NativeOptions(const LoadBackendOptionsMap& map) {
    for (size_t i = 0; i < map.size(); ++i) {
      const LoadBackendOptionsMap::EntryView entry = map.entry_at(i);
      auto& rows = rows_.emplace_back();
      for (const BackendOption& option : entry.options) {
        owners_.push_back(std::make_unique<internal::NativeOption>(option));
        rows.push_back(owners_.back()->option());
      }
      names_.push_back(entry.backend_id);
    }
    for (size_t i = 0; i < rows_.size(); ++i) all_.push_back({names_[i], rows_[i]});
  }
  Span<const ::rushlight::BackendOptions> view() const { return {all_.data(), all_.size()}; }

 private:
  std::vector<std::unique_ptr<internal::NativeOption>> owners_;
  std::vector<std::vector<::rushlight::BackendOption>> rows_;
  std::vector<const char*> names_;
  std::vector<::rushlight::BackendOptions> all_;
};

}  // namespace

// The objects to which the runtime's method refers. They live as long as the method.
struct Method::Services {
  internal::MethodKernels kernels;
  std::unique_ptr<::rushlight::LoadedMethod> method;
  ~Services() { method.reset(); }
};

Result<Method> Program::load_method(const char* method_name, MemoryManager* memory_manager, EventTracer* event_tracer,
                                    const NamedDataMap* named_data_map, const LoadBackendOptionsMap* backend_options,
                                    Span<const Kernel> kernel_registry) const {
  ET_CHECK_OR_RETURN_ERROR(memory_manager != nullptr, InvalidArgument, "a method needs a MemoryManager");
  auto plan = native_->program().plan(method_name);
  if (!plan.ok()) return internal::log_argument_error(plan.error());
  ET_CHECK_OR_RETURN_ERROR(memory_manager->planned_memory() || plan->num_planned_memories() == 0, InvalidState,
                           "the method %s needs planned memory, but the MemoryManager has none", method_name);
  return load_method_with_memory(method_name, memory_manager, event_tracer, named_data_map, backend_options,
                                 kernel_registry);
}

Result<Method> Program::load_method_with_memory(const char* method_name, MemoryManager* memory_manager,
                                                EventTracer* event_tracer, const NamedDataMap* named_data_map,
                                                const LoadBackendOptionsMap* backend_options,
                                                Span<const Kernel> kernel_registry) const {
  auto services = std::make_unique<Method::Services>();
  auto plan = native_->program().plan(method_name);
  if (!plan.ok()) return internal::log_argument_error(plan.error());
  const Error found = services->kernels.find(*plan, kernel_registry);
  if (found != Error::Ok) return internal::log_error(found);
  ::rushlight::Environment environment;
  environment.kernels = services->kernels.tables();
  environment.backends = internal::backend_table();
  environment.threads = extension::threadpool::native_threadpool();
  environment.tracer = event_tracer ? event_tracer->native() : nullptr;
  environment.data = named_data_map ? named_data_map->native() : nullptr;
  const LoadBackendOptionsMap none;
  const NativeOptions options(backend_options ? *backend_options : none);
  environment.backend_options = options.view();
  auto method = ::rushlight::LoadedMethod::load(native_, method_name, environment, nullptr, memory_manager->native());
  if (!method.ok()) return internal::log_error(method.error());
  services->method = std::move(*method);
  return Method(std::move(services), event_tracer);
}

Error internal::log_input_error(Error error, const ::rushlight::MethodMeta& meta, size_t first,
                                Span<const ::rushlight::EValue> values) {
  for (size_t i = 0; error == Error::InvalidArgument && i < values.size(); ++i) {
    const auto info = meta.input_tensor_meta(first + i);
    if (!info.ok() || !values[i].is_tensor()) continue;
    const ::rushlight::Tensor given = values[i].to_tensor();
    const auto sizes = given.sizes();
    const bool fits = sizes.size() == info->sizes.size() && std::equal(sizes.begin(), sizes.end(), info->sizes.begin());
    if (!fits && given.scalar_type() == info->dtype) error = Error::NotSupported;
  }
  return log_argument_error(error);
}

Method::Method(std::unique_ptr<Services> services, EventTracer* event_tracer)
    : services_(std::move(services)), event_tracer_(event_tracer) {}
Method::Method(Method&& other) noexcept = default;
Method::~Method() = default;

::rushlight::LoadedMethod& Method::native() { return *services_->method; }
::rushlight::Method& Method::inner() const { return services_->method->method(); }

Error Method::set_input(const EValue& input_evalue, size_t input_idx) {
  const Error error = services_->method->set_input(input_idx, input_evalue);
  return internal::log_input_error(error, inner().meta(), input_idx, {&input_evalue, 1});
}

Error Method::set_inputs(const aten::ArrayRef<EValue>& input_evalues) {
  ET_CHECK_OR_RETURN_ERROR(input_evalues.size() == inputs_size(), InvalidArgument,
                           "the method has %zu input%s, but %zu %s given", inputs_size(),
                           ::rushlight::plural(inputs_size()), input_evalues.size(),
                           input_evalues.size() == 1 ? "is" : "are");
  const auto* const values = static_cast<const ::rushlight::EValue*>(input_evalues.data());
  const Error error = services_->method->set_inputs({values, input_evalues.size()});
  return internal::log_input_error(error, inner().meta(), 0, {values, input_evalues.size()});
}

Error Method::set_output_data_ptr(void* buffer, size_t size, size_t output_idx) {
  return internal::log_argument_error(inner().set_output_data_ptr(output_idx, buffer, size));
}

Error Method::get_outputs(EValue* output_evalues, size_t length) {
  ET_CHECK_OR_RETURN_ERROR(length >= outputs_size(), InvalidArgument,
                           "the method has %zu output%s, but the length of the array is %zu", outputs_size(),
                           ::rushlight::plural(outputs_size()), length);
  for (size_t i = 0; i < length; ++i) output_evalues[i] = i < outputs_size() ? get_output(i) : EValue();
  return Error::Ok;
}

Error Method::get_inputs(EValue* input_evalues, size_t length) {
  ET_CHECK_OR_RETURN_ERROR(length >= inputs_size(), InvalidArgument,
                           "the method has %zu input%s, but the length of the array is %zu", inputs_size(),
                           ::rushlight::plural(inputs_size()), length);
  for (size_t i = 0; i < length; ++i) input_evalues[i] = i < inputs_size() ? get_input(i) : EValue();
  return Error::Ok;
}

Result<aten::Tensor> Method::get_attribute(std::string_view name) { return inner().get_attribute(name); }

Error Method::execute() {
  const Error prepared = services_->method->allocate_outputs();
  if (prepared != Error::Ok) return internal::log_error(prepared);
  in_progress_ = false;
  at_end_ = false;
  return internal::log_error(services_->method->run({}));
}

Error Method::step() {
  if (!in_progress_) {
    const Error prepared = services_->method->allocate_outputs();
    if (prepared != Error::Ok) return internal::log_error(prepared);
    RL_TRY(inner().reset_execution());  // the last execute() ended after the last instruction
  }
  in_progress_ = true;
  const Error error = inner().step();
  at_end_ = error == Error::EndOfMethod;
  return internal::log_error(error);
}

Error Method::reset_execution() {
  ET_CHECK_OR_RETURN_ERROR(at_end_, InvalidState,
                           "the method cannot be reset before its last instruction was executed");
  in_progress_ = false;
  at_end_ = false;
  return internal::log_error(inner().reset_execution());
}

MethodMeta Method::method_meta() const { return MethodMeta(inner().meta()); }
size_t Method::inputs_size() const { return inner().inputs_size(); }
size_t Method::outputs_size() const { return inner().outputs_size(); }

const EValue& Method::get_input(size_t i) const {
  ET_CHECK_MSG(i < inputs_size(), "the method has %zu input%s; the index %zu is too large", inputs_size(),
               ::rushlight::plural(inputs_size()), i);
  return static_cast<const EValue&>(inner().get_input(i));
}

const EValue& Method::get_output(size_t i) const {
  ET_CHECK_MSG(i < outputs_size(), "the method has %zu output%s; the index %zu is too large", outputs_size(),
               ::rushlight::plural(outputs_size()), i);
  return static_cast<const EValue&>(inner().get_output(i));
}

EValue& Method::mutable_input(size_t i) { return const_cast<EValue&>(get_input(i)); }
EValue& Method::mutable_output(size_t i) { return const_cast<EValue&>(get_output(i)); }

}  // namespace runtime
}  // namespace executorch
