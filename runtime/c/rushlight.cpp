#include "rushlight.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "c/data_files.h"
#include "core/message.h"
#include "rushlight/module/defaults.h"
#include "rushlight/module/library.h"
#include "rushlight/module/module.h"
#include "rushlight/platform/platform.h"
#include "rushlight/threads/thread_pool.h"

#ifndef RUSHLIGHT_VERSION
#error "RUSHLIGHT_VERSION is not defined: the build must define it"
#endif

using rushlight::Error;
using rushlight::Result;

struct rushlight_program {
  std::shared_ptr<rushlight::LoadedProgram> loaded;
};

struct rushlight_method {
  std::unique_ptr<rushlight::LoadedMethod> loaded;
  std::vector<std::string_view> texts;  // one for each input; the values of the method point to them
};

struct rushlight_thread_pool {
  explicit rushlight_thread_pool(rushlight::ThreadPool* tasks) : pool(tasks) {}
  virtual ~rushlight_thread_pool() = default;
  rushlight::ThreadPool* pool;
};

namespace {

static_assert(RUSHLIGHT_MAX_RANK == rushlight::kMaxDim);
static_assert(RUSHLIGHT_CANCELLED == static_cast<int>(Error::Cancelled));
static_assert(RUSHLIGHT_DELEGATE_INVALID_HANDLE == static_cast<int>(Error::DelegateInvalidHandle));
static_assert(RUSHLIGHT_UINT64 == static_cast<int>(rushlight::ScalarType::UInt64));
static_assert(RUSHLIGHT_DYNAMIC_UNBOUND == static_cast<int>(rushlight::ShapeDynamism::DYNAMIC_UNBOUND));

bool is_dtype(int32_t dtype) { return dtype >= 0 && dtype < rushlight::kScalarTypeCount; }

// Returns whether the sizes are not negative and the bytes of their elements can be counted.
bool are_sizes(rushlight::Span<const rushlight::SizesType> sizes, size_t element) {
  const int64_t numel = rushlight::checked_numel(sizes);
  return numel >= 0 && static_cast<uint64_t>(numel) <= PTRDIFF_MAX / std::max<size_t>(element, 1);
}

rushlight_status status_of(Error error) { return static_cast<rushlight_status>(error); }

// Returns InvalidArgument from a function of the API if a pointer is null.
#define REQUIRE_POINTER(pointer)                                                                                     \
  do {                                                                                                               \
    if (!(pointer)) return status_of(rushlight::fail(Error::InvalidArgument, "%s: " #pointer " is null", __func__)); \
  } while (0)

class HostPool final : public rushlight_thread_pool {
 public:
  explicit HostPool(size_t threads) : rushlight_thread_pool(&host_), host_(threads) {}

 private:
  rushlight::HostThreadPool host_;
};

class CustomPool final : public rushlight_thread_pool, private rushlight::ThreadPool {
 public:
  using Run = void (*)(void* user, size_t count, void (*task)(void*, size_t), void* context);
  CustomPool(size_t threads, Run run, void* user)
      : rushlight_thread_pool(this), threads_(threads), run_(run), user_(user) {}
  size_t thread_count() const override { return threads_; }
  void run(size_t count, void (*task)(void* context, size_t index), void* context) override {
    run_(user_, count, task, context);
  }

 private:
  size_t threads_;
  Run run_;
  void* user_;
};

rushlight_status store(rushlight_thread_pool* made, rushlight_thread_pool** pool) {
  if (!made) return status_of(rushlight::fail(Error::MemoryAllocationFailed, "no memory for a thread pool"));
  *pool = made;
  return RUSHLIGHT_OK;
}

rushlight_status store(Result<std::shared_ptr<rushlight::LoadedProgram>> loaded, rushlight_program** program) {
  if (!loaded.ok()) return status_of(loaded.error());
  *program = new (std::nothrow) rushlight_program{std::move(*loaded)};
  return *program ? RUSHLIGHT_OK : status_of(rushlight::fail(Error::MemoryAllocationFailed, "no memory for a program"));
}

int32_t kind_of(rushlight::Tag tag) {
  switch (tag) {
    case rushlight::Tag::None:
      return RUSHLIGHT_NONE;
    case rushlight::Tag::Tensor:
      return RUSHLIGHT_TENSOR;
    case rushlight::Tag::Int:
      return RUSHLIGHT_INTEGER;
    case rushlight::Tag::Double:
      return RUSHLIGHT_REAL;
    case rushlight::Tag::Bool:
      return RUSHLIGHT_BOOLEAN;
    case rushlight::Tag::String:
      return RUSHLIGHT_STRING;
    default:
      return RUSHLIGHT_OTHER;
  }
}

void write_tensor(const rushlight::Tensor& tensor, rushlight_value* value) {
  value->kind = RUSHLIGHT_TENSOR;
  value->dtype = static_cast<int32_t>(tensor.scalar_type());
  value->rank = static_cast<int32_t>(tensor.dim());
  for (int i = 0; i < value->rank; ++i) {
    value->sizes[i] = static_cast<int32_t>(tensor.size(i));
    value->dim_order[i] = tensor.dim_order()[static_cast<size_t>(i)];
  }
  value->data = tensor.mutable_data_ptr();
  value->nbytes = tensor.nbytes();
}

void write_value(const rushlight::EValue& from, rushlight_value* value) {
  *value = {};
  value->kind = kind_of(from.tag);
  switch (value->kind) {
    case RUSHLIGHT_TENSOR:
      write_tensor(from.to_tensor(), value);
      break;
    case RUSHLIGHT_INTEGER:
      value->integer = from.to_int();
      break;
    case RUSHLIGHT_BOOLEAN:
      value->integer = from.to_bool();
      break;
    case RUSHLIGHT_REAL:
      value->real = from.to_double();
      break;
    case RUSHLIGHT_STRING:
      value->data = const_cast<char*>(from.to_string_view().data());
      value->nbytes = from.to_string_view().size();
      break;
    default:
      break;
  }
}

// An input of the caller, converted to an EValue. The object must not move while the EValue is used.
class ConvertedInput {
 public:
  ConvertedInput() = default;
  ConvertedInput(const ConvertedInput&) = delete;
  ConvertedInput& operator=(const ConvertedInput&) = delete;

  // The characters of a string are stored in `text`, which must outlive the use of this value.
  Error read(const rushlight_value& from, size_t index, std::string_view* text) {
    switch (from.kind) {
      case RUSHLIGHT_NONE:
        value_ = rushlight::EValue();
        return Error::Ok;
      case RUSHLIGHT_INTEGER:
        value_ = rushlight::EValue(from.integer);
        return Error::Ok;
      case RUSHLIGHT_BOOLEAN:
        value_ = rushlight::EValue(from.integer != 0);
        return Error::Ok;
      case RUSHLIGHT_REAL:
        value_ = rushlight::EValue(from.real);
        return Error::Ok;
      case RUSHLIGHT_STRING:
        RL_REQUIRE(from.data || from.nbytes == 0, InvalidArgument, "input %zu is a string without characters", index);
        *text = std::string_view(static_cast<const char*>(from.data), from.nbytes);
        value_ = rushlight::EValue(text);
        return Error::Ok;
      case RUSHLIGHT_TENSOR:
        return read_tensor(from, index);
      default:
        return rushlight::fail(Error::InvalidType, "input %zu has the unknown kind %d", index,
                               static_cast<int>(from.kind));
    }
  }
  const rushlight::EValue& value() const { return value_; }

 private:
  Error read_tensor(const rushlight_value& from, size_t index) {
    RL_REQUIRE(from.rank >= 0 && from.rank <= rushlight::kMaxDim, InvalidArgument,
               "input %zu has the rank %d; it must be from 0 to %d", index, static_cast<int>(from.rank),
               rushlight::kMaxDim);
    const auto dtype = static_cast<rushlight::ScalarType>(from.dtype);
    RL_REQUIRE(is_dtype(from.dtype), InvalidArgument, "input %zu has the unknown dtype %d", index,
               static_cast<int>(from.dtype));
    const auto rank = static_cast<size_t>(from.rank);
    std::copy_n(from.sizes, rank, sizes_);
    RL_REQUIRE(are_sizes({sizes_, rank}, rushlight::element_size(dtype)), InvalidArgument,
               "the sizes of input %zu are negative or too large", index);
    RL_TRY(read_dim_order(from, index));
    rushlight::strides_from_dim_order({sizes_, rank}, dim_order_, strides_);
    tensor_.data = from.data;
    tensor_.sizes = sizes_;
    tensor_.strides = strides_;
    tensor_.dim_order = dim_order_;
    tensor_.numel = rushlight::checked_numel({sizes_, rank});
    tensor_.capacity = from.nbytes;
    tensor_.dtype = dtype;
    tensor_.dim = static_cast<uint8_t>(rank);
    value_ = rushlight::EValue(&tensor_);
    const size_t needed = rushlight::Tensor(&tensor_).nbytes();
    RL_REQUIRE(from.nbytes >= needed, InvalidArgument, "input %zu has %zu bytes; its sizes and dtype need %zu", index,
               from.nbytes, needed);
    RL_REQUIRE(from.data || needed == 0, InvalidArgument, "the data of input %zu are null", index);
    return Error::Ok;
  }

  Error read_dim_order(const rushlight_value& from, size_t index) {
    uint32_t seen = 0, largest = 0;
    for (int i = 0; i < from.rank; ++i) {
      largest = std::max<uint32_t>(largest, from.dim_order[i]);
      if (from.dim_order[i] < from.rank) seen |= 1u << from.dim_order[i];
    }
    const bool is_default = largest == 0;
    RL_REQUIRE(is_default || seen == (1u << from.rank) - 1, InvalidArgument,
               "the dim order of input %zu does not have each dimension once", index);
    for (int i = 0; i < from.rank; ++i) dim_order_[i] = is_default ? static_cast<uint8_t>(i) : from.dim_order[i];
    return Error::Ok;
  }

  rushlight::SizesType sizes_[RUSHLIGHT_MAX_RANK];
  rushlight::StridesType strides_[RUSHLIGHT_MAX_RANK];
  rushlight::DimOrderType dim_order_[RUSHLIGHT_MAX_RANK];
  rushlight::TensorImpl tensor_;
  rushlight::EValue value_;
};

// Copies as many bytes as the caller's struct has, and keeps its `struct_size`.
template <typename T>
Error write_struct(T value, T* out) {
  RL_REQUIRE(out->struct_size >= sizeof(size_t), InvalidArgument, "struct_size is not set");
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, std::min(out->struct_size, sizeof(T)));
  return Error::Ok;
}

// Copies a struct of the caller. It may be shorter than the struct of this version: missing members are 0.
template <typename T>
Error read_struct(const T* given, T* out) {
  *out = {};
  RL_REQUIRE(given->struct_size >= sizeof(size_t), InvalidArgument, "struct_size is not set");
  std::memcpy(out, given, std::min(given->struct_size, sizeof(T)));
  return Error::Ok;
}

using TagOf = Result<rushlight::Tag> (rushlight::MethodMeta::*)(size_t) const;
using TensorInfoOf = Result<rushlight::TensorInfo> (rushlight::MethodMeta::*)(size_t) const;

Error describe(const rushlight_program* program, const char* method, size_t index, TagOf tag_of, TensorInfoOf tensor_of,
               rushlight_value_info* out) {
  RL_ASSIGN(const auto meta, program->loaded->program().method_meta(method));
  RL_ASSIGN(const auto tag, (meta.*tag_of)(index));
  rushlight_value_info info = {};
  info.kind = kind_of(tag);
  if (info.kind == RUSHLIGHT_TENSOR) {
    RL_ASSIGN(const auto tensor, (meta.*tensor_of)(index));
    info.dtype = static_cast<int32_t>(tensor.dtype);
    info.rank = static_cast<int32_t>(tensor.sizes.size());
    info.dynamism = static_cast<int32_t>(tensor.dynamism);
    info.nbytes = tensor.nbytes;
    std::copy(tensor.sizes.begin(), tensor.sizes.end(), info.sizes);
    std::copy(tensor.dim_order.begin(), tensor.dim_order.end(), info.dim_order);
  }
  return write_struct(info, out);
}

Error describe(const rushlight_program* program, const char* method, rushlight_method_info* out) {
  RL_ASSIGN(const auto meta, program->loaded->program().method_meta(method));
  rushlight_method_info info = {};
  info.inputs = meta.num_inputs();
  info.outputs = meta.num_outputs();
  info.instructions = meta.num_instructions();
  info.delegates = meta.num_backends();
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    RL_ASSIGN(const size_t bytes, meta.memory_planned_buffer_size(i));
    info.planned_bytes += bytes;
  }
  return write_struct(info, out);
}

Result<std::unique_ptr<rushlight::LoadedMethod>> load(const rushlight_program& program, const char* name,
                                                      const rushlight_method_options* given) {
  rushlight_method_options options = {};
  if (given) RL_TRY(read_struct(given, &options));
  std::shared_ptr<rushlight::LoadedData> data;
  if (options.data_path_count > 0) {
    RL_REQUIRE(options.data_paths, InvalidArgument, "data_path_count is %zu, but data_paths is null",
               options.data_path_count);
    RL_ASSIGN(data, rushlight::load_data_files({options.data_paths, options.data_path_count}));
  }
  const std::vector<rushlight::KernelTable> kernels = rushlight::available_kernels();
  const std::vector<rushlight::Backend> backends = rushlight::available_backends();
  rushlight::Environment environment;
  environment.kernels = {kernels.data(), kernels.size()};
  environment.backends = {backends.data(), backends.size()};
  environment.threads = options.threads ? options.threads->pool : &rushlight::default_thread_pool();
  if (options.max_instructions > 0) environment.limits.instructions = options.max_instructions;
  if (options.max_memory > 0) environment.limits.memory = options.max_memory;
  RL_ASSIGN(auto loaded, rushlight::LoadedMethod::load(program.loaded, name, environment, std::move(data)));
  RL_TRY(loaded->allocate_outputs());
  return loaded;
}

void (*g_log)(int32_t level, const char* message) = nullptr;

void send_log(rushlight::platform::LogLevel level, const char* message) { g_log(static_cast<int32_t>(level), message); }

Error set_platform(const rushlight_platform* given) {
  rushlight_platform platform;
  RL_TRY(read_struct(given, &platform));
  RL_REQUIRE(!platform.allocate == !platform.release, InvalidArgument,
             "allocate and release must be set together, but one of them is null");
  RL_REQUIRE(!platform.thread_start == !platform.thread_join, InvalidArgument,
             "thread_start and thread_join must be set together, but one of them is null");
  rushlight::platform::Hooks hooks;
  hooks.now_ns = platform.now_ns;
  hooks.allocate = platform.allocate;
  hooks.release = platform.release;
  hooks.panic = platform.panic;
  hooks.thread_start = platform.thread_start;
  hooks.thread_join = platform.thread_join;
  g_log = platform.log;
  if (g_log) hooks.log = send_log;
  rushlight::platform::set_hooks(hooks);
  return Error::Ok;
}

}  // namespace

uint32_t rushlight_api_version(void) { return RUSHLIGHT_API_VERSION; }

const char* rushlight_version(void) { return RUSHLIGHT_VERSION; }

const char* rushlight_status_name(rushlight_status status) { return rushlight::to_string(static_cast<Error>(status)); }

const char* rushlight_last_error(void) { return rushlight::last_error_message(); }

size_t rushlight_dtype_size(rushlight_dtype dtype) {
  return is_dtype(dtype) ? rushlight::element_size(static_cast<rushlight::ScalarType>(dtype)) : 0;
}

rushlight_status rushlight_set_platform(const rushlight_platform* platform) {
  REQUIRE_POINTER(platform);
  return status_of(set_platform(platform));
}

rushlight_status rushlight_load_library(const char* path) {
  REQUIRE_POINTER(path);
  const auto loaded = rushlight::load_library(path);
  return loaded.ok() ? RUSHLIGHT_OK : status_of(loaded.error());
}

rushlight_status rushlight_thread_pool_new(size_t threads, rushlight_thread_pool** pool) {
  REQUIRE_POINTER(pool);
  *pool = nullptr;
  if (threads == 0) return status_of(rushlight::fail(Error::InvalidArgument, "a thread pool needs at least 1 thread"));
  return store(new (std::nothrow) HostPool(threads), pool);
}

rushlight_status rushlight_thread_pool_custom(size_t threads,
                                              void (*run)(void* user, size_t count,
                                                          void (*task)(void* context, size_t index), void* context),
                                              void* user, rushlight_thread_pool** pool) {
  REQUIRE_POINTER(pool);
  *pool = nullptr;
  REQUIRE_POINTER(run);
  if (threads == 0) return status_of(rushlight::fail(Error::InvalidArgument, "a thread pool needs at least 1 thread"));
  return store(new (std::nothrow) CustomPool(threads, run, user), pool);
}

void rushlight_thread_pool_free(rushlight_thread_pool* pool) { delete pool; }

rushlight_status rushlight_program_load(const char* path, rushlight_program** program) {
  REQUIRE_POINTER(program);
  *program = nullptr;
  REQUIRE_POINTER(path);
  return store(rushlight::LoadedProgram::from_file(path), program);
}

rushlight_status rushlight_program_read(const char* path, rushlight_program** program) {
  REQUIRE_POINTER(program);
  *program = nullptr;
  REQUIRE_POINTER(path);
  return store(rushlight::LoadedProgram::from_file(path, rushlight::LoadedProgram::Mode::File), program);
}

rushlight_status rushlight_program_load_buffer(const void* data, size_t size, void (*release)(void* context),
                                               void* context, rushlight_program** program) {
  std::shared_ptr<void> owner;
  if (release) owner = std::shared_ptr<void>(context, release);
  REQUIRE_POINTER(program);
  *program = nullptr;
  REQUIRE_POINTER(data);
  return store(rushlight::LoadedProgram::from_buffer(data, size, std::move(owner)), program);
}

rushlight_status rushlight_program_verify_digest(const rushlight_program* program) {
  REQUIRE_POINTER(program);
  return status_of(program->loaded->program().verify_digest());
}

void rushlight_program_free(rushlight_program* program) { delete program; }

size_t rushlight_program_method_count(const rushlight_program* program) {
  return program ? program->loaded->program().num_methods() : 0;
}

const char* rushlight_program_method_name(const rushlight_program* program, size_t index) {
  if (index >= rushlight_program_method_count(program)) return nullptr;
  const auto name = program->loaded->program().method_name(index);
  return name.ok() ? name->data() : nullptr;
}

rushlight_status rushlight_program_method_info(const rushlight_program* program, const char* method,
                                               rushlight_method_info* info) {
  REQUIRE_POINTER(program);
  REQUIRE_POINTER(method);
  REQUIRE_POINTER(info);
  return status_of(describe(program, method, info));
}

rushlight_status rushlight_program_input_info(const rushlight_program* program, const char* method, size_t index,
                                              rushlight_value_info* info) {
  REQUIRE_POINTER(program);
  REQUIRE_POINTER(method);
  REQUIRE_POINTER(info);
  return status_of(describe(program, method, index, &rushlight::MethodMeta::input_tag,
                            &rushlight::MethodMeta::input_tensor_meta, info));
}

rushlight_status rushlight_program_output_info(const rushlight_program* program, const char* method, size_t index,
                                               rushlight_value_info* info) {
  REQUIRE_POINTER(program);
  REQUIRE_POINTER(method);
  REQUIRE_POINTER(info);
  return status_of(describe(program, method, index, &rushlight::MethodMeta::output_tag,
                            &rushlight::MethodMeta::output_tensor_meta, info));
}

const char* rushlight_program_backend_name(const rushlight_program* program, const char* method, size_t index) {
  if (!program || !method) return nullptr;
  const auto meta = program->loaded->program().method_meta(method);
  if (!meta.ok()) return nullptr;
  const auto name = meta->backend_name(index);
  return name.ok() ? name->data() : nullptr;
}

rushlight_status rushlight_method_load(const rushlight_program* program, const char* name,
                                       const rushlight_method_options* options, rushlight_method** method) {
  REQUIRE_POINTER(method);
  *method = nullptr;
  REQUIRE_POINTER(program);
  REQUIRE_POINTER(name);
  auto loaded = load(*program, name, options);
  if (!loaded.ok()) return status_of(loaded.error());
  std::vector<std::string_view> texts((*loaded)->method().inputs_size());
  *method = new (std::nothrow) rushlight_method{std::move(*loaded), std::move(texts)};
  return *method ? RUSHLIGHT_OK : status_of(rushlight::fail(Error::MemoryAllocationFailed, "no memory for a method"));
}

void rushlight_method_free(rushlight_method* method) { delete method; }

rushlight_status rushlight_tensor(rushlight_value* value, rushlight_dtype dtype, size_t rank, const int32_t* sizes,
                                  void* data) {
  REQUIRE_POINTER(value);
  if (rank > RUSHLIGHT_MAX_RANK) {
    return status_of(rushlight::fail(Error::InvalidArgument, "the rank %zu is above %d", rank, RUSHLIGHT_MAX_RANK));
  }
  if (rank > 0) REQUIRE_POINTER(sizes);
  const size_t element = rushlight_dtype_size(dtype);
  if (element == 0 || !are_sizes({sizes, rank}, element)) {
    return status_of(rushlight::fail(Error::InvalidArgument,
                                     element ? "the sizes are negative or too large" : "the dtype is unknown"));
  }
  *value = {};
  value->kind = RUSHLIGHT_TENSOR;
  value->dtype = dtype;
  value->rank = static_cast<int32_t>(rank);
  if (rank > 0) std::copy_n(sizes, rank, value->sizes);
  value->data = data;
  value->nbytes = static_cast<size_t>(rushlight::checked_numel({sizes, rank})) * element;
  return RUSHLIGHT_OK;
}

rushlight_status rushlight_method_set_input(rushlight_method* method, size_t index, const rushlight_value* value) {
  REQUIRE_POINTER(method);
  REQUIRE_POINTER(value);
  if (index >= method->texts.size()) {
    return status_of(rushlight::fail(Error::InvalidArgument, "input %zu does not exist: the method has %zu input%s",
                                     index, method->texts.size(), rushlight::plural(method->texts.size())));
  }
  ConvertedInput given;
  const Error error = given.read(*value, index, &method->texts[index]);
  return status_of(error == Error::Ok ? method->loaded->set_input(index, given.value()) : error);
}

rushlight_status rushlight_method_execute(rushlight_method* method) {
  REQUIRE_POINTER(method);
  return status_of(method->loaded->run({}));
}

void rushlight_method_cancel(rushlight_method* method) {
  if (method) method->loaded->method().cancel();
}

rushlight_status rushlight_method_reset_state(rushlight_method* method) {
  REQUIRE_POINTER(method);
  return status_of(method->loaded->method().reset_state());
}

rushlight_status rushlight_method_run(rushlight_method* method, const rushlight_value* inputs, size_t count) {
  REQUIRE_POINTER(method);
  if (count > 0) REQUIRE_POINTER(inputs);
  const size_t wanted = method->texts.size();
  if (count != wanted) {
    return status_of(rushlight::fail(Error::InvalidArgument, "the method has %zu input%s, but %zu %s given", wanted,
                                     rushlight::plural(wanted), count, count == 1 ? "is" : "are"));
  }
  const auto is_result = [&](const rushlight_value& given) {
    return given.kind == RUSHLIGHT_TENSOR && method->loaded->is_overwritten(given.data);
  };
  if (std::any_of(inputs, inputs + count, is_result)) {
    std::vector<ConvertedInput> given(count);
    std::vector<rushlight::EValue> values(count);
    for (size_t i = 0; i < count; ++i) {
      const Error error = given[i].read(inputs[i], i, &method->texts[i]);
      if (error != Error::Ok) return status_of(error);
      values[i] = given[i].value();
    }
    const Error error = method->loaded->set_inputs({values.data(), count});
    return error == Error::Ok ? rushlight_method_execute(method) : status_of(error);
  }
  for (size_t i = 0; i < count; ++i) {
    const rushlight_status status = rushlight_method_set_input(method, i, &inputs[i]);
    if (status != RUSHLIGHT_OK) return status;
  }
  return rushlight_method_execute(method);
}

rushlight_status rushlight_method_output(const rushlight_method* method, size_t index, rushlight_value* value) {
  REQUIRE_POINTER(method);
  REQUIRE_POINTER(value);
  const rushlight::Method& loaded = method->loaded->method();
  if (index >= loaded.outputs_size()) {
    return status_of(rushlight::fail(Error::InvalidArgument, "output %zu does not exist: the method has %zu output%s",
                                     index, loaded.outputs_size(), rushlight::plural(loaded.outputs_size())));
  }
  write_value(loaded.get_output(index), value);
  return RUSHLIGHT_OK;
}

rushlight_status rushlight_method_attribute(const rushlight_method* method, const char* name, rushlight_value* value) {
  REQUIRE_POINTER(method);
  REQUIRE_POINTER(name);
  REQUIRE_POINTER(value);
  const auto tensor = method->loaded->method().get_attribute(name);
  if (!tensor.ok()) return status_of(tensor.error());
  *value = {};
  write_tensor(*tensor, value);
  return RUSHLIGHT_OK;
}
