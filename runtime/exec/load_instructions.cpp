#include <algorithm>
#include <cstring>
#include <new>

#include "core/kernel_rows.h"
#include "core/message.h"
#include "exec/join_texts.h"
#include "exec/method_loader.h"
#include "exec/operator_text.h"

namespace rushlight {
namespace {

// Returns whether a kernel supports the dtypes and dim orders of the arguments. Kernel tables of selective builds have
// no keys, and these builds do not contain the code that reads keys.
bool supports_arguments(const Kernel& kernel, const EValue* const* arguments) {
#if defined(RUSHLIGHT_NO_KERNEL_KEYS)
  static_cast<void>(arguments);
  return !kernel.key;
#else
  return fits_key(kernel, arguments);
#endif
}

// A list of names, separated by commas; names that do not fit are cut.
class NameList {
 public:
  void add(const char* name) {
    if (!kHasMessages || is_full_) return;
    char* const end = text_ + length_;
    const size_t capacity = sizeof(text_) - length_;
    const size_t written = join_texts(end, capacity, {length_ ? ", " : "", name});
    is_full_ = written + 5 >= capacity;
    if (is_full_) {
      join_texts(end, capacity, {length_ ? ", ..." : "..."});
    } else {
      length_ += written;
    }
  }
  const char* text() const { return text_; }

 private:
  char text_[360] = "";
  size_t length_ = 0;
  bool is_full_ = false;
};

// Returns whether a kernel such as "aten::index_put_" changes only a part of its first argument. The other elements
// keep their values, so the argument counts as read. "aten::copy_" writes all elements.
bool keeps_elements(const char* name) {
  if (std::strcmp(name, "aten::copy_") == 0) return false;
  size_t length = 0;  // without the overload
  while (name[length] != '\0' && name[length] != '.') ++length;
  return length > 0 && name[length - 1] == '_';
}

}  // namespace

Error MethodLoader::find_operators() {
  const size_t count = plan_.num_operators();
  if (!kHasKernels) {
    RL_REQUIRE(count == 0, OperatorMissing,
               "method '%.40s' calls %zu operator%s, but this selective build has no kernels", method_name(), count,
               plural(count));
    return Error::Ok;
  }
  RL_TRY(allocate_array(count, &operators_));
  NameList missing;
  size_t num_missing = 0;
  for (size_t i = 0; i < count; ++i) {
    const OperatorText name(plan_.operator_name(i));
    operators_[i] = find_kernel(environment_.kernels, name.view);
    if (operators_[i]) continue;
    missing.add(name.text);
    ++num_missing;
  }
  RL_REQUIRE(num_missing == 0, OperatorMissing,
             "method '%.40s' calls %zu operator%s that %s no kernel here: %s (load a library with "
             "these kernels, or pass a kernel table that contains them)",
             method_name(), num_missing, plural(num_missing), num_missing == 1 ? "has" : "have", missing.text());
  return Error::Ok;
}

Error MethodLoader::init_delegates() {
  const size_t count = plan_.num_delegates();
  char reason[320] = "";  // the first error message of a backend that is not available
  NameList missing;
  size_t num_missing = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view id = plan_.delegate_id(i);
    const Backend* row = find_backend(environment_.backends, id);
    clear_last_error_message();
    if (row && row->backend->is_available()) continue;
    if (kHasMessages && !reason[0]) join_texts(reason, sizeof(reason), {last_error_message()});
    missing.add(id.data());
    ++num_missing;
  }
  RL_REQUIRE(num_missing == 0, NotFound,
             "method '%.40s' needs backends that are absent or not available on this machine: %s (%s)", method_name(),
             missing.text(),
             reason[0] ? reason : "load a library with these backends, or pass a backend table that contains them");
  RL_TRY(allocate_array(count, &state_.delegates));
  for (size_t i = 0; i < count; ++i) {
    const std::string_view id = plan_.delegate_id(i);
    RL_ASSIGN(FreeableBuffer processed, plan_.load_delegate_data(i));
    CompileSpec* specs = nullptr;
    const size_t num_specs = plan_.num_compile_specs(i);
    RL_TRY(allocate_array(num_specs, &specs));
    for (size_t j = 0; j < num_specs; ++j) new (&specs[j]) CompileSpec(plan_.compile_spec(i, j));
    Span<const BackendOption> options;
    for (const BackendOptions& entry : environment_.backend_options) {
      if (entry.backend == id) options = entry.options;
    }
    DelegateState* delegate = new (&state_.delegates[i])
        DelegateState{find_backend(environment_.backends, id)->backend, nullptr, std::move(processed)};
    BackendInitContext context{state_.memory.method, state_.threads, state_.tracer,
                               plan_.name(),         &state_.data,   options};
    clear_last_error_message();
    auto handle = delegate->backend->init(context, &delegate->processed, Span<const CompileSpec>(specs, num_specs));
    if (!handle.ok()) {
      delegate->~DelegateState();
      return fail(handle.error(), "delegate %zu (%.80s) of method '%.80s' cannot be initialized: %s", i, id.data(),
                  method_name(), *last_error_message() ? last_error_message() : to_string(handle.error()));
    }
    delegate->handle = *handle;
    state_.num_delegates = static_cast<uint32_t>(i + 1);
  }
  return Error::Ok;
}

Error MethodLoader::load_chains() {
  RL_TRY(allocate_restored());
  const size_t count = plan_.num_chains();
  RL_TRY(allocate_array(count, &state_.chains));
  for (size_t chain = 0; chain < count; ++chain) {
    const size_t length = plan_.num_instructions(chain);
    Instruction* instructions = nullptr;
    RL_TRY(allocate_array(length, &instructions));
    skipped_until_ = 0;
    for (size_t i = 0; i < length; ++i) RL_TRY(load_instruction(chain, i, new (&instructions[i]) Instruction{}));
    state_.chains[chain] = {instructions, static_cast<uint32_t>(length)};
    state_.num_chains = static_cast<uint32_t>(chain + 1);
  }
  return Error::Ok;
}

// Allocates memory for the views and the moved values that load_instruction() adds.
Error MethodLoader::allocate_restored() {
  size_t num_views = 0, num_moved = 0;
  for (size_t chain = 0; chain < plan_.num_chains(); ++chain) {
    for (size_t i = 0; i < plan_.num_instructions(chain); ++i) {
      const InstructionView view = plan_.instruction(chain, i);
      num_views += is_view_call(view);
      num_moved += view.kind == InstructionKind::Move && plan_.tag(view.second) == Tag::Tensor;
    }
  }
  RL_TRY(allocate_array(num_views, &state_.views));
  return allocate_array(num_moved, &state_.moved);
}

// Records the memory of a view's tensor. The tensor must not be an input: set_input() would copy elements into the
// memory that the tensor viewed in the last run.
Error MethodLoader::record_view(size_t chain, size_t index, const InstructionView& view, Instruction* out) {
  RL_REQUIRE((flags_[view.args[kViewOut]] & kInput) == 0, InvalidProgram,
             "method '%.80s', instruction %zu of chain %zu: the view is value %d, which is an input", method_name(),
             index, chain, view.args[kViewOut]);
  TensorImpl* tensor = tensor_of(state_.values[view.args[kViewOut]]);
  if (!tensor) return Error::Ok;
  out->opcode = Opcode::View;
  out->destination = state_.num_views;
  state_.views[state_.num_views++] = {tensor, tensor->data, tensor->capacity};
  return Error::Ok;
}

Error MethodLoader::load_instruction(size_t chain, size_t index, Instruction* out) {
  const InstructionView view = plan_.instruction(chain, index);
  RL_TRY(check_memory_of(chain, index, view));
  EValue** arguments = nullptr;
  RL_TRY(allocate_array(view.args.size(), &arguments));
  for (size_t i = 0; i < view.args.size(); ++i) arguments[i] = &state_.values[view.args[i]];
  out->argument_count = static_cast<uint32_t>(view.args.size());
  switch (view.kind) {
    case InstructionKind::Kernel:
      if (!kHasKernels) break;  // find_operators() has checked that there are no operators
      out->arguments = arguments;
      return load_kernel_call(chain, index, view, out);
    case InstructionKind::Delegate:
      out->opcode = Opcode::Delegate;
      out->delegate = &state_.delegates[view.first];
      out->arguments = arguments;
      for (const int32_t value : view.args) record_read(value);
      return Error::Ok;
    case InstructionKind::Move:
      out->opcode = Opcode::Move;
      out->from = &state_.values[view.first];
      out->to = &state_.values[view.second];
      if (TensorImpl* tensor = tensor_of(*out->to)) state_.moved[state_.num_moved++] = {out->to, tensor};
      record_read(view.first);
      return Error::Ok;
    case InstructionKind::JumpFalse:
      out->opcode = Opcode::JumpFalse;
      out->from = &state_.values[view.first];
      out->destination = view.second;
      record_read(view.first);
      return Error::Ok;
    case InstructionKind::Free:
      out->opcode = Opcode::Free;
      out->from = &state_.values[view.first];
      return Error::Ok;
  }
  return Error::Internal;
}

Error MethodLoader::load_kernel_call(size_t chain, size_t index, const InstructionView& view, Instruction* out) {
  RL_TRY(check_arguments(chain, index, *operators_[view.first], view));
  const Kernel* kernel = nullptr;
  RL_TRY(choose_kernel(chain, index, view, out->arguments, &kernel));
  const BoxedKernel& boxed = kernel->boxed;
  if (boxed.arity > 0 && keeps_elements(kernel->name)) record_read(static_cast<size_t>(view.args[0]));
  bool takes_values = false;
  for (uint16_t i = 0; i < boxed.arity; ++i) {
    if (!is_out(boxed.kinds[i])) record_read(static_cast<size_t>(view.args[i]));
    takes_values = takes_values || boxed.kinds[i] == ArgKind::Value;
  }
  for (size_t i = 0; i < view.args.size(); ++i) {
    const bool is_result = i >= boxed.arity || is_out(boxed.kinds[i]);
    if (!is_result) continue;
    const auto value = static_cast<size_t>(view.args[i]);
    // A view call sets the data pointer of its output and writes no element.
    if (i < boxed.arity && !is_view_call(view)) RL_TRY(check_not_constant(chain, index, *kernel, value));
    record_written(value);
  }
  RL_REQUIRE(!takes_values || boxed.arity <= kMaxGuardedArity, NotSupported,
             "kernel %.200s has a parameter EValue& and more than %d parameters", kernel->name,
             static_cast<int>(kMaxGuardedArity));
  out->opcode = takes_values ? Opcode::GuardedKernel : Opcode::Kernel;
  if (is_view_call(view)) RL_TRY(record_view(chain, index, view, out));
  out->arity = static_cast<uint8_t>(takes_values ? boxed.arity : 0);
  out->kernel = boxed.call;
  out->row = kernel;
  return Error::Ok;
}

// Sets `kernel` to the operator's first row that supports the dtypes and dim orders of all tensor arguments.
Error MethodLoader::choose_kernel(size_t chain, size_t index, const InstructionView& view, EValue* const* arguments,
                                  const Kernel** kernel) const {
  *kernel = operators_[view.first];
  const DtypeMismatch mismatch = find_dtype_mismatch(**kernel, arguments);
  if (!mismatch.found && supports_arguments(**kernel, arguments)) return Error::Ok;
  for (const KernelTable& table : environment_.kernels) {
    const Kernel* other = find_kernel(Span<const KernelTable>(&table, 1), (*kernel)->name);
    if (!other || other == *kernel || !have_same_kinds(other->boxed, (*kernel)->boxed)) continue;
    if (find_dtype_mismatch(*other, arguments).found || !supports_arguments(*other, arguments)) continue;
    *kernel = other;
    return Error::Ok;
  }
  RL_REQUIRE(mismatch.found, NotSupported,
             "method '%.80s', instruction %zu of chain %zu: %.200s has kernels for other dtypes and dim orders only",
             method_name(), index, chain, (*kernel)->name);
  return fail(Error::NotSupported,
              "method '%.80s', instruction %zu of chain %zu: the kernel of %.200s does not support tensors of %s "
              "as argument %u",
              method_name(), index, chain, (*kernel)->name, dtype_name(mismatch.dtype), mismatch.argument);
}

Error MethodLoader::check_arguments(size_t chain, size_t index, const Kernel& kernel, const InstructionView& view) {
  const BoxedKernel& boxed = kernel.boxed;
  size_t outs = 0;
  for (uint16_t i = 0; i < boxed.arity; ++i) outs += is_out(boxed.kinds[i]);
  // After the arguments of the operator, a program lists the results, one by one or as one list.
  const size_t results = outs > 0 ? outs : 1;
  RL_REQUIRE(view.args.size() >= boxed.arity && view.args.size() <= boxed.arity + results, InvalidProgram,
             "method '%.80s', instruction %zu of chain %zu: %.200s takes %d arguments, but %zu are given",
             method_name(), index, chain, kernel.name, boxed.arity, view.args.size());
  for (uint16_t i = 0; i < boxed.arity; ++i) {
    const Tag tag = state_.values[view.args[i]].tag;
    RL_REQUIRE(accepts(boxed.kinds[i], tag), InvalidProgram,
               "method '%.80s', instruction %zu of chain %zu: argument %d of %.200s must be a %s, but value %d is a %s",
               method_name(), index, chain, i, kernel.name, to_string(boxed.kinds[i]), view.args[i], to_string(tag));
  }
  return Error::Ok;
}

Error MethodLoader::check_not_constant(size_t chain, size_t index, const Kernel& kernel, size_t value) {
  bool is_constant = (flags_[value] & kReadOnly) != 0;
  if (plan_.tag(value) == Tag::ListTensor) {
    for (const int32_t item : plan_.tensor_list(value)) is_constant = is_constant || (flags_[item] & kReadOnly);
  }
  RL_REQUIRE(!is_constant, InvalidProgram,
             "method '%.80s', instruction %zu of chain %zu: %.200s writes value %zu, which is a constant",
             method_name(), index, chain, kernel.name, value);
  return Error::Ok;
}

// Returns whether a value is a tensor without memory, or a list with such a tensor.
bool MethodLoader::is_unset(size_t value) const {
  const Tag tag = plan_.tag(value);
  if (tag != Tag::ListTensor && tag != Tag::ListOptionalTensor) return (flags_[value] & kUnset) != 0;
  for (const int32_t item : plan_.tensor_list(value)) {
    if (item >= 0 && (flags_[item] & kUnset)) return true;
  }
  return false;
}

// Views of inputs that the caller provides have no memory in the program. Checks that such a tensor is used only after
// the view call that sets its memory, and that no jump skips this call.
Error MethodLoader::check_memory_of(size_t chain, size_t index, const InstructionView& view) {
  const bool is_view = is_view_call(view);
  const bool reads_first = view.kind == InstructionKind::Move || view.kind == InstructionKind::JumpFalse;
  int64_t unset = reads_first && is_unset(view.first) ? int64_t{view.first} : -1;
  for (size_t i = 0; i < view.args.size(); ++i) {
    if (!(is_view && i == kViewOut) && is_unset(static_cast<size_t>(view.args[i]))) unset = view.args[i];
  }
  RL_REQUIRE(unset < 0, InvalidProgram,
             "method '%.80s', instruction %zu of chain %zu uses value %lld, a tensor with neither data nor planned "
             "memory, and neither an input nor an output",
             method_name(), index, chain, static_cast<long long>(unset));
  if (view.kind == InstructionKind::JumpFalse) skipped_until_ = std::max<size_t>(skipped_until_, view.second);
  if (!is_view || !(flags_[view.args[kViewOut]] & kUnset)) return Error::Ok;
  RL_REQUIRE(index >= skipped_until_, InvalidProgram,
             "method '%.80s', instruction %zu of chain %zu: a jump may skip the call that sets the memory of value %d",
             method_name(), index, chain, view.args[kViewOut]);
  flags_[view.args[kViewOut]] &= static_cast<uint8_t>(~kUnset);
  return Error::Ok;
}

// Planned memory that an instruction reads before any instruction writes it is state, which starts as zeros. Initial
// values are copied later. Memory that methods share is not cleared, because another method may have written it.
void MethodLoader::record_read(size_t value) {
  const Tag tag = plan_.tag(value);
  if (tag == Tag::ListTensor || tag == Tag::ListOptionalTensor) {
    for (const int32_t item : plan_.tensor_list(value)) {
      if (item >= 0) record_read(static_cast<size_t>(item));
    }
    return;
  }
  if (tag != Tag::Tensor || (flags_[value] & kWritten)) return;
  flags_[value] |= kWritten;  // the value is state, and has its initial value from here on
  const TensorView view = plan_.tensor(value);
  const bool is_shared = environment_.state && environment_.state->shares(view.memory);
  if (view.source == TensorSource::Planned && view.nbytes > 0 && !is_shared) {
    flags_[value] |= kState;
    std::memset(tensor_of(state_.values[value])->data, 0, view.nbytes);
  }
}

void MethodLoader::record_written(size_t value) {
  flags_[value] |= kWritten;
  if (plan_.tag(value) != Tag::ListTensor) return;
  for (const int32_t item : plan_.tensor_list(value)) flags_[item] |= kWritten;
}

}  // namespace rushlight
