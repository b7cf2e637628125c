#include <cstdio>
#include <cstring>

#include "backends/openvino/api.h"
#include "backends/openvino/model.h"
#include "backends/openvino/payload.h"
#include "rushlight/backends/openvino.h"

namespace rushlight {
namespace {

using openvino::Model;

// Returns a copy of the bytes that ends with NUL.
Result<const char*> text_of(const void* data, size_t size, MemoryAllocator& allocator) {
  char* text = allocator.allocate_array<char>(size + 1);
  RL_REQUIRE(text, MemoryAllocationFailed, "no memory for an option of OpenvinoBackend");
  std::memcpy(text, data, size);
  text[size] = '\0';
  return static_cast<const char*>(text);
}

class OpenvinoBackend final : public BackendInterface {
 public:
  bool is_available() const override { return openvino::load_api().ok(); }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               Span<const CompileSpec> specs) override {
    RL_ASSIGN(const openvino::Api* api, openvino::load_api());
    const uint8_t* bytes = static_cast<const uint8_t*>(processed->data());
    RL_ASSIGN(const openvino::Payload payload, openvino::read_payload({bytes, processed->size()}));
    Model::Options options;
    char threads[24];
    std::snprintf(threads, sizeof(threads), "%zu", context.threads ? context.threads->thread_count() : size_t{1});
    for (const char* text : {"PERFORMANCE_HINT", "LATENCY"}) options.properties[options.count++] = text;
    const size_t own = options.count;
    RL_TRY(read_options(specs, *context.allocator, &options));
    if (std::strcmp(options.device, "CPU") == 0) {
      // Compile specs have priority over these properties.
      add(own, "INFERENCE_NUM_THREADS", threads, &options);
      add(own, "INFERENCE_PRECISION_HINT", "f32", &options);
    }
    // The payload is not freed, because a compiled model may read its weights in place.
    RL_ASSIGN(Model * model, Model::make(*api, payload, options, *context.allocator));
    return static_cast<DelegateHandle*>(model);
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle, Span<EValue* const> arguments) override {
    return static_cast<Model*>(handle)->execute(arguments);
  }

  void destroy(DelegateHandle* handle) override {
    if (handle) static_cast<Model*>(handle)->~Model();
  }

 private:
  static Error read_options(Span<const CompileSpec> specs, MemoryAllocator& allocator, Model::Options* options) {
    // init() adds two properties.
    constexpr size_t kMaxStrings = 2 * (Model::kMaxProperties - 2);
    for (const CompileSpec& spec : specs) {
      RL_ASSIGN(const char* value, text_of(spec.value.data(), spec.value.size(), allocator));
      if (spec.key == "device") {
        options->device = value;
        continue;
      }
      RL_REQUIRE(options->count < kMaxStrings, NotSupported, "OpenvinoBackend accepts at most %zu properties",
                 kMaxStrings / 2 - 1);
      RL_ASSIGN(const char* key, text_of(spec.key.data(), spec.key.size(), allocator));
      options->properties[options->count++] = key;
      options->properties[options->count++] = value;
    }
    return Error::Ok;
  }

  static void add(size_t own, const char* key, const char* value, Model::Options* options) {
    for (size_t i = own; i < options->count; i += 2) {
      if (std::strcmp(options->properties[i], key) == 0) return;
    }
    options->properties[options->count++] = key;
    options->properties[options->count++] = value;
  }
};

}  // namespace

Backend openvino_backend() {
  static OpenvinoBackend backend;
  return {"OpenvinoBackend", &backend};
}

}  // namespace rushlight
