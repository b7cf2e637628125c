#include <new>

#include "backends/xnnpack/executor.h"
#include "backends/xnnpack/payload.h"
#include "rushlight/backends/xnnpack.h"

namespace rushlight {
namespace {

using xnnpack::Executor;

class XnnpackBackend final : public BackendInterface {
 public:
  explicit XnnpackBackend(Span<const KernelTable> kernels) : kernels_(kernels) {}

  bool is_available() const override {
    static const bool is_initialized = xnnpack::initialize_library();
    return is_initialized;
  }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               Span<const CompileSpec>) override {
    RL_REQUIRE(is_available(), NotSupported, "XNNPACK does not support this processor");
    xnnpack::Options options;
    options.kernels = kernels_;
    for (const BackendOption& option : context.options) RL_TRY(set_option(option, &options));
    bool keeps_payload = false;
    RL_ASSIGN(xnnpack::Graph * graph, xnnpack::read_graph(processed->data(), processed->size(), context.named_data,
                                                          *context.allocator, &keeps_payload));
    const size_t threads = context.threads ? context.threads->thread_count() : 1;
    RL_ASSIGN(Executor * executor, Executor::make(graph, options, threads, *context.allocator));
    if (!keeps_payload) processed->Free();
    return static_cast<DelegateHandle*>(executor);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue* const> arguments) override {
    return static_cast<Executor*>(handle)->execute(context, arguments);
  }

  void destroy(DelegateHandle* handle) override {
    if (handle) static_cast<Executor*>(handle)->~Executor();
  }

 private:
  static Error set_option(const BackendOption& option, xnnpack::Options* options) {
    const struct {
      std::string_view key;
      bool* value;
    } known[] = {
        {"own_kernels", &options->own_kernels}, {"microkernels", &options->microkernels}, {"exact", &options->exact}};
    for (const auto& row : known) {
      if (option.key != row.key) continue;
      RL_REQUIRE(option.value.tag == Tag::Bool, InvalidArgument, "option %s of XnnpackBackend must be a bool, not %s",
                 row.key.data(), to_string(option.value.tag));
      *row.value = option.value.to_bool();
      return Error::Ok;
    }
    return fail(Error::NotSupported,
                "XnnpackBackend has no option '%.*s'; its options are own_kernels, microkernels and exact",
                static_cast<int>(option.key.size()), option.key.data());
  }

  Span<const KernelTable> kernels_;
};

}  // namespace

Backend xnnpack_backend(Span<const KernelTable> kernels) {
  static XnnpackBackend backend(kernels);
  return {"XnnpackBackend", &backend};
}

}  // namespace rushlight
