#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "executorch/register_backend.h"
#include "executorch/registry.h"
#include "executorch/runtime/backend/interface.h"

namespace executorch {
namespace runtime {

BackendInterface::~BackendInterface() = default;

namespace {

constexpr size_t kMaxBackends = 32;

// An allocator of the runtime with the interface of ExecuTorch's MemoryAllocator.
class NativeAllocator final : public MemoryAllocator {
 public:
  explicit NativeAllocator(::rushlight::MemoryAllocator* native) : MemoryAllocator(0, nullptr), native_(native) {}
  void* allocate(size_t size, size_t alignment) override { return native_->allocate(size, alignment); }
  void reset() override {}  // the runtime resets the memory

 private:
  ::rushlight::MemoryAllocator* native_;
};

// Converts an option of the runtime. Returns false if its type is not supported or its text is too long.
bool copy_option(const ::rushlight::BackendOption& from, BackendOption* to) {
  if (from.key.size() >= kMaxOptionKeyLength) return false;
  std::memcpy(to->key, from.key.data(), from.key.size());
  to->key[from.key.size()] = '\0';
  switch (from.value.tag) {
    case Tag::Bool:
      to->value = from.value.to_bool();
      return true;
    case Tag::Int:
      to->value = static_cast<int>(from.value.to_int());
      return true;
    case Tag::String: {
      const std::string_view text = from.value.to_string_view();
      std::array<char, kMaxOptionValueLength> copy{};
      if (text.size() >= copy.size()) return false;
      std::memcpy(copy.data(), text.data(), text.size());
      to->value = copy;
      return true;
    }
    default:
      return false;
  }
}

// The runtime's handle: the handle that a backend of the application returned, and the data of its delegate.
struct Handle {
  DelegateHandle* given = nullptr;
  std::string method_name;
  std::vector<CompileSpec> specs;
  std::vector<EValue*> arguments;
};

// Adapts a backend of the application to the runtime's interface.
class Bridge final : public ::rushlight::BackendInterface {
 public:
  explicit Bridge(executorch::runtime::BackendInterface* backend) : backend_(backend) {}
  executorch::runtime::BackendInterface* backend() const { return backend_; }

  bool is_available() const override { return backend_->is_available(); }

  Result<::rushlight::DelegateHandle*> init(::rushlight::BackendInitContext& native, FreeableBuffer* processed,
                                            Span<const ::rushlight::CompileSpec> specs) override {
    auto handle = std::make_unique<Handle>();
    handle->method_name = std::string(native.method_name);
    for (const ::rushlight::CompileSpec& spec : specs) {
      handle->specs.push_back({spec.key.data(), {const_cast<uint8_t*>(spec.value.data()), spec.value.size()}});
    }
    std::vector<BackendOption> options(native.options.size());
    for (size_t i = 0; i < options.size(); ++i) {
      RL_REQUIRE(copy_option(native.options[i], &options[i]), InvalidArgument,
                 "option '%.*s' has an unsupported type or is too long", static_cast<int>(native.options[i].key.size()),
                 native.options[i].key.data());
    }
    NativeAllocator allocator(native.allocator);
    internal::NativeDataMap data(native.named_data);
    std::unique_ptr<internal::NativeTracer> tracer;
    if (native.tracer) tracer = std::make_unique<internal::NativeTracer>(native.tracer, ::rushlight::EventId());
    BackendInitContext context(&allocator, tracer.get(), handle->method_name.c_str(),
                               native.named_data ? &data : nullptr, options);
    auto given = backend_->init(context, processed, handle->specs);
    if (!given.ok()) return given.error();
    handle->given = *given;
    return static_cast<::rushlight::DelegateHandle*>(handle.release());
  }

  Error execute(::rushlight::BackendExecutionContext& native, ::rushlight::DelegateHandle* opaque,
                Span<::rushlight::EValue* const> arguments) override {
    auto* handle = static_cast<Handle*>(opaque);
    NativeAllocator allocator(native.temporary);
    std::unique_ptr<internal::NativeTracer> tracer;
    if (native.tracer) tracer = std::make_unique<internal::NativeTracer>(native.tracer, native.event);
    BackendExecutionContext context(tracer.get(), native.temporary ? &allocator : nullptr, handle->method_name.c_str());
    handle->arguments.clear();
    for (::rushlight::EValue* argument : arguments) handle->arguments.push_back(static_cast<EValue*>(argument));
    return backend_->execute(context, handle->given, handle->arguments);
  }

  void destroy(::rushlight::DelegateHandle* opaque) override {
    std::unique_ptr<Handle> handle(static_cast<Handle*>(opaque));
    backend_->destroy(handle->given);
  }

  Error set_option(const ::rushlight::BackendOption& option) override {
    BackendOption copy;
    if (!copy_option(option, &copy)) return Error::InvalidArgument;
    BackendOptionContext context;
    return backend_->set_option(context, Span<BackendOption>(&copy, size_t{1}));
  }

 private:
  executorch::runtime::BackendInterface* backend_;
};

// The backends of the application and of the runtime. The rows never move in memory.
struct Registry {
  ::rushlight::Backend rows[kMaxBackends];
  executorch::runtime::BackendInterface* classes[kMaxBackends] = {};  // null for a backend of the runtime
  size_t size = 0;
};

Registry& registry() {
  static Registry* const only = new Registry();
  return *only;
}

Result<size_t> find(const char* name) {
  for (size_t i = 0; i < registry().size; ++i) {
    if (std::strcmp(registry().rows[i].id, name) == 0) return i;
  }
  return Error::NotFound;
}

Error add(const ::rushlight::Backend& row, executorch::runtime::BackendInterface* own) {
  Registry& all = registry();
  ET_CHECK_OR_RETURN_ERROR(all.size < kMaxBackends, Internal, "more than %zu backends are registered", kMaxBackends);
  all.rows[all.size] = row;
  all.classes[all.size++] = own;
  return Error::Ok;
}

}  // namespace

Error internal::register_native_backend(const ::rushlight::Backend& row) {
  if (find(row.id).ok()) return Error::Ok;
  return add(row, nullptr);
}

::rushlight::BackendTable internal::backend_table() { return {registry().rows, registry().size}; }

Error register_backend(const Backend& backend) {
  ET_CHECK_OR_RETURN_ERROR(backend.name && backend.backend, InvalidArgument, "a backend needs a name and an object");
  ET_CHECK_OR_RETURN_ERROR(!find(backend.name).ok(), InvalidArgument,
                           "a backend with the name '%s' is registered already", backend.name);
  return add({backend.name, new Bridge(backend.backend)}, backend.backend);
}

BackendInterface* get_backend_class(const char* name) {
  auto index = find(name);
  return index.ok() ? registry().classes[*index] : nullptr;
}

size_t get_num_registered_backends() { return registry().size; }

Result<const char*> get_backend_name(size_t index) {
  if (index >= registry().size) return Error::InvalidArgument;
  return registry().rows[index].id;
}

Error set_option(const char* backend_name, const Span<BackendOption> backend_options) {
  RL_ASSIGN(const size_t index, find(backend_name));
  if (registry().classes[index]) {
    BackendOptionContext context;
    return registry().classes[index]->set_option(context, backend_options);
  }
  for (const BackendOption& option : backend_options) {
    const internal::NativeOption native(option);
    RL_TRY(internal::log_error(registry().rows[index].backend->set_option(native.option())));
  }
  return Error::Ok;
}

Error get_option(const char* backend_name, Span<BackendOption> backend_options) {
  RL_ASSIGN(const size_t index, find(backend_name));
  if (registry().classes[index]) {
    BackendOptionContext context;
    return registry().classes[index]->get_option(context, backend_options);
  }
  for (BackendOption& option : backend_options) {
    auto value = registry().rows[index].backend->get_option(option.key);
    if (!value.ok()) return internal::log_error(value.error());
    if (!copy_option({option.key, *value}, &option)) return Error::InvalidArgument;
  }
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch
