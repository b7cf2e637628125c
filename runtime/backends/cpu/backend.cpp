#include <cstring>

#include "backends/cpu/executor.h"
#include "rushlight/backends/cpu.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

using cpu::Executor;
using cpu::Plan;
using microkernels::F32Microkernels;

class CpuBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               Span<const CompileSpec>) override {
    const F32Microkernels* set = &microkernels::f32_microkernels();
    for (const BackendOption& option : context.options) RL_TRY(set_option(option, &set));
    RL_ASSIGN(Plan * plan,
              cpu::read_plan(processed->data(), processed->size(), context.named_data, *context.allocator));
    processed->Free();
    const cpu::Packing own = cpu::packing_of(*set);
    if (plan->table.vector_floats() != own.vector || plan->table.panel_floats() != own.panel) {
      RL_LOG(Warning,
             "CpuBackend: method %.*s was compiled for %s but runs on %s, so that its weights are packed again at "
             "load; compile it for this target to avoid that",
             static_cast<int>(context.method_name.size()), context.method_name.data(), plan->table.target().data(),
             set->name);
    }
    const size_t threads = context.threads ? context.threads->thread_count() : 1;
    RL_ASSIGN(Executor * executor, Executor::make(plan, *set, static_cast<int64_t>(threads), *context.allocator));
    return static_cast<DelegateHandle*>(executor);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue* const> arguments) override {
    return static_cast<Executor*>(handle)->execute(context, arguments);
  }

  Error reset_state(DelegateHandle* handle, const NamedDataMap* named_data) override {
    return static_cast<Executor*>(handle)->reset_state(named_data);
  }

  void destroy(DelegateHandle* handle) override {
    if (handle) static_cast<Executor*>(handle)->~Executor();
  }

 private:
  static Error set_option(const BackendOption& option, const F32Microkernels** set) {
    RL_REQUIRE(option.key == "isa", NotSupported, "CpuBackend has no option '%.*s'; its only option is isa",
               static_cast<int>(option.key.size()), option.key.data());
    RL_REQUIRE(option.value.tag == Tag::String, InvalidArgument, "option isa of CpuBackend must be a string, not %s",
               to_string(option.value.tag));
    char name[16] = {};
    const std::string_view wanted = option.value.to_string_view();
    if (wanted.size() < sizeof(name)) std::memcpy(name, wanted.data(), wanted.size());
    *set = microkernels::f32_microkernels_named(name);
    RL_REQUIRE(*set != nullptr, NotSupported, "this processor or build has no microkernels for isa '%.*s'",
               static_cast<int>(wanted.size()), wanted.data());
    return Error::Ok;
  }
};

}  // namespace

Backend cpu_backend() {
  static CpuBackend backend;
  return {"CpuBackend", &backend};
}

}  // namespace rushlight
