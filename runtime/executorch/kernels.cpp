#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "executorch/registry.h"
#include "executorch/runtime/kernel/operator_registry.h"
#include "rushlight/platform/mutex.h"

namespace executorch {
namespace runtime {
namespace {

constexpr size_t kMaxKernels = 2000;
constexpr size_t kMaxUntyped = 256;
constexpr size_t kMaxArity = 16;  // of a kernel with unknown parameter types

struct RankedTable {
  ::rushlight::KernelTable table;
  int rank;
};

struct Registry {
  ::rushlight::platform::Mutex mutex;
  std::vector<Kernel> kernels;  // of the application
  std::vector<RankedTable> tables;
  std::vector<Kernel> all;  // empty until list_kernels()
};

Registry& registry() {
  static Registry* const only = new Registry();
  only->kernels.reserve(kMaxKernels);
  return *only;
}

//
// The runtime calls a kernel with only its arguments, but an OpFunction also needs the number of arguments. Each pair
// of a function and a number therefore has its own call_untyped<index>().

struct Untyped {
  OpFunction function;
  size_t arity = 0;
};

Untyped untyped[kMaxUntyped];
size_t num_untyped = 0;
::rushlight::platform::Mutex untyped_mutex;

void call_nth_untyped(size_t index, ::rushlight::KernelRuntimeContext& native, ::rushlight::EValue* const* arguments) {
  KernelRuntimeContext context(native);
  EValue* stack[kMaxArity];
  const Untyped& kernel = untyped[index];
  for (size_t i = 0; i < kernel.arity; ++i) stack[i] = static_cast<EValue*>(arguments[i]);
  kernel.function(context, Span<EValue*>(stack, kernel.arity));
}

template <size_t index>
void call_untyped(::rushlight::KernelRuntimeContext& native, ::rushlight::EValue* const* arguments) {
  call_nth_untyped(index, native, arguments);
}

template <size_t... indices>
::rushlight::KernelFunction nth_untyped(size_t index, std::index_sequence<indices...>) {
  static constexpr ::rushlight::KernelFunction functions[] = {&call_untyped<indices>...};
  return functions[index];
}

constexpr ::rushlight::ArgKind kValues[kMaxArity] = {
    ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value,
    ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value,
    ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value,
    ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value, ::rushlight::ArgKind::Value};

// Returns the runtime's form of a kernel with `arity` values as arguments.
Result<::rushlight::BoxedKernel> box_untyped(const Kernel& kernel, size_t arity) {
  RL_REQUIRE(arity <= kMaxArity, NotSupported,
             "the kernel of %.200s has %zu arguments; a kernel with unknown parameter types may have at most %zu",
             kernel.name_, arity, kMaxArity);
  const ::rushlight::platform::Lock lock(untyped_mutex);
  size_t index = 0;
  while (index < num_untyped && (untyped[index].function != kernel.op_ || untyped[index].arity != arity)) ++index;
  RL_REQUIRE(index < kMaxUntyped, RegistrationExceedingMaxKernels, "more than %zu kernels have unknown parameter types",
             kMaxUntyped);
  if (index == num_untyped) untyped[num_untyped++] = {kernel.op_, arity};
  return ::rushlight::BoxedKernel{nth_untyped(index, std::make_index_sequence<kMaxUntyped>()), kValues,
                                  static_cast<uint16_t>(arity)};
}

// Returns the number of arguments of an operator's first call, or 0 if there is no call.
size_t arity_of(const ::rushlight::PlanView& plan, size_t operator_index) {
  for (size_t chain = 0; chain < plan.num_chains(); ++chain) {
    for (size_t i = 0; i < plan.num_instructions(chain); ++i) {
      const ::rushlight::InstructionView instruction = plan.instruction(chain, i);
      if (instruction.kind == ::rushlight::InstructionKind::Kernel && instruction.first == operator_index) {
        return instruction.args.size();
      }
    }
  }
  return 0;
}

std::string full_name(const ::rushlight::OperatorName& name) {
  std::string text(name.name);
  if (!name.overload.empty()) text.append(".").append(name.overload);
  return text;
}

bool has_key(Span<const TensorMeta> metas, const Kernel& kernel) {
  char key[internal::kKernelKeyBufSize];
  if (internal::make_kernel_key_string(metas, key, sizeof(key)) != Error::Ok) return false;
  return !kernel.kernel_key_.is_fallback() && std::strcmp(kernel.kernel_key_.data(), key) == 0;
}

bool is_listed(Span<const Kernel> kernels, const ::rushlight::Kernel& row) {
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& kernel) {
    return kernel.kernel_key_ == KernelKey(row.key) && std::strcmp(kernel.name_, row.name) == 0;
  });
}

// Returns the kernels of the application, then those of the tables. Of the kernels with the same name and key, only the
// first is listed. The caller holds the lock of the registry.
Span<const Kernel> list_kernels() {
  Registry& from = registry();
  if (!from.all.empty()) return from.all;
  from.all = from.kernels;
  for (const RankedTable& ranked : from.tables) {
    const Span<const Kernel> earlier(from.all.data(), from.all.size());
    std::vector<Kernel> added;
    for (const ::rushlight::Kernel& row : ranked.table) {
      if (is_listed(earlier, row)) continue;
      added.push_back(Kernel(row.name, row.key, OpFunction(&row), &row.boxed));
    }
    from.all.insert(from.all.end(), added.begin(), added.end());
  }
  return from.all;
}

// Returns the kernel for tensors of these dtypes and dim orders, else the kernel with an empty key.
Result<OpFunction> find_registered(const char* name, Span<const TensorMeta> metas) {
  const ::rushlight::platform::Lock lock(registry().mutex);
  const Kernel* fallback = nullptr;
  for (const Kernel& kernel : list_kernels()) {
    if (std::strcmp(kernel.name_, name) != 0) continue;
    if (has_key(metas, kernel)) return kernel.op_;
    if (kernel.kernel_key_.is_fallback() && !fallback) fallback = &kernel;
  }
  if (!fallback) return Error::OperatorMissing;
  return fallback->op_;
}

}  // namespace

void OpFunction::call_native(KernelRuntimeContext& context, Span<EValue*> stack) const {
  const ::rushlight::BoxedKernel& boxed = native_->boxed;
  if (stack.size() != boxed.arity) {
    ET_LOG(Error, "%s: the kernel has %d arguments, not %zu", native_->name, boxed.arity, stack.size());
    return context.fail(Error::InvalidArgument);
  }
  for (size_t i = 0; i < stack.size(); ++i) {
    if (::rushlight::accepts(boxed.kinds[i], stack[i]->tag)) continue;
    ET_LOG(Error, "%s: argument %zu must be of type %s", native_->name, i, ::rushlight::to_string(boxed.kinds[i]));
    return context.fail(Error::InvalidArgument);
  }
  auto* const* const arguments = reinterpret_cast<::rushlight::EValue* const*>(stack.data());
  const ::rushlight::DtypeMismatch mismatch = ::rushlight::find_dtype_mismatch(*native_, arguments);
  if (mismatch.found) {
    ET_LOG(Error, "%s: argument %d has the unsupported dtype %s", native_->name, mismatch.argument,
           ::rushlight::dtype_name(mismatch.dtype));
    return context.fail(Error::InvalidArgument);
  }
  boxed.call(context.native(), arguments);
}

Error internal::make_kernel_key_string(Span<const TensorMeta> key, char* buf, size_t buf_size) {
  size_t length = 0;
  const auto add = [&](const char* format, int number) {
    if (length >= buf_size) return;
    length += static_cast<size_t>(std::snprintf(buf + length, buf_size - length, format, number));
  };
  if (key.empty()) {
    if (buf_size > 0) buf[0] = '\0';
    return Error::Ok;
  }
  add("v%d/", 1);
  for (size_t i = 0; i < key.size(); ++i) {
    add(i == 0 ? "%d;" : "|%d;", static_cast<int>(key[i].dtype_));
    for (size_t j = 0; j < key[i].dim_order_.size(); ++j) add(j == 0 ? "%d" : ",%d", key[i].dim_order_[j]);
  }
  return length < buf_size ? Error::Ok : Error::InvalidArgument;
}

Error internal::register_table(::rushlight::KernelTable table, int rank) {
  const ::rushlight::platform::Lock lock(registry().mutex);
  std::vector<RankedTable>& tables = registry().tables;
  for (const RankedTable& other : tables) {
    if (other.table.data() == table.data()) return Error::Ok;
  }
  auto place = tables.begin();
  while (place != tables.end() && place->rank <= rank) ++place;
  tables.insert(place, {table, rank});
  registry().all.clear();
  return Error::Ok;
}

Error register_kernels(const Span<const Kernel> kernels) {
  const ::rushlight::platform::Lock lock(registry().mutex);
  std::vector<Kernel>& all = registry().kernels;
  ET_CHECK_OR_RETURN_ERROR(kernels.size() <= kMaxKernels - all.size(), RegistrationExceedingMaxKernels,
                           "%zu kernels are registered; the maximum is %zu", all.size() + kernels.size(), kMaxKernels);
  for (const Kernel& kernel : kernels) {
    for (const Kernel& other : all) {
      ET_CHECK_OR_RETURN_ERROR(std::strcmp(kernel.name_, other.name_) != 0 || kernel.kernel_key_ != other.kernel_key_,
                               RegistrationAlreadyRegistered, "a kernel of %s with the key %s is registered already",
                               kernel.name_, kernel.kernel_key_.is_fallback() ? "(none)" : kernel.kernel_key_.data());
    }
  }
  all.insert(all.end(), kernels.begin(), kernels.end());
  registry().all.clear();
  return Error::Ok;
}

Span<const Kernel> get_registered_kernels() {
  const ::rushlight::platform::Lock lock(registry().mutex);
  return list_kernels();
}

bool registry_has_op_function(const char* name, Span<const TensorMeta> meta_list) {
  return find_registered(name, meta_list).ok();
}

Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list) {
  return find_registered(name, meta_list);
}

namespace internal {

Error MethodKernels::add(const Kernel& kernel, const ::rushlight::PlanView& plan, size_t index) {
  ::rushlight::Kernel row{kernel.name_, {}, {}};
  row.key = kernel.kernel_key_.data();
  if (kernel.typed_) {
    row.boxed = *kernel.typed_;
  } else {
    RL_ASSIGN(row.boxed, box_untyped(kernel, arity_of(plan, index)));
  }
  const auto has_name = [&](const std::vector<::rushlight::Kernel>& rows) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const ::rushlight::Kernel& other) { return std::strcmp(other.name, kernel.name_) == 0; });
  };
  auto rows = std::find_if_not(rows_.begin(), rows_.end(), has_name);
  if (rows == rows_.end()) rows = rows_.insert(rows_.end(), std::vector<::rushlight::Kernel>());
  rows->push_back(row);
  return Error::Ok;
}

Error MethodKernels::find(const ::rushlight::PlanView& plan, Span<const Kernel> own) {
  const ::rushlight::platform::Lock lock(registry().mutex);
  const Span<const Kernel> registered(registry().kernels.data(), registry().kernels.size());
  for (size_t i = 0; i < plan.num_operators(); ++i) {
    const std::string name = full_name(plan.operator_name(i));
    for (const Span<const Kernel> kernels : {own, registered}) {
      for (const bool fallback : {false, true}) {
        for (const Kernel& kernel : kernels) {
          if (name == kernel.name_ && kernel.kernel_key_.is_fallback() == fallback) RL_TRY(add(kernel, plan, i));
        }
      }
    }
  }
  for (std::vector<::rushlight::Kernel>& rows : rows_) {
    std::sort(rows.begin(), rows.end(), [](const ::rushlight::Kernel& a, const ::rushlight::Kernel& b) {
      return std::strcmp(a.name, b.name) < 0;
    });
    tables_.emplace_back(rows.data(), rows.size());
  }
  for (const RankedTable& ranked : registry().tables) tables_.push_back(ranked.table);
  return Error::Ok;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
