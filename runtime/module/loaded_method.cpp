#include <algorithm>
#include <cstring>
#include <utility>

#include "rushlight/module/backends.h"
#include "rushlight/module/module.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

constexpr size_t kArenaAlignment = 64;

// Returns whether an address is in one of the memories.
bool contain(Span<const Span<uint8_t>> memories, const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  for (const Span<uint8_t> memory : memories) {
    const auto start = reinterpret_cast<uintptr_t>(memory.data());
    if (place >= start && place - start < memory.size()) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<LoadedMethod>> LoadedMethod::load(std::shared_ptr<LoadedProgram> program, std::string_view name,
                                                         const Environment& environment,
                                                         std::shared_ptr<LoadedData> data,
                                                         const MemoryManager& memory) {
  std::unique_ptr<LoadedMethod> loaded(new LoadedMethod());
  loaded->program_ = std::move(program);
  loaded->data_ = std::move(data);
  const Program& source = loaded->program_->program();
  RL_ASSIGN(const MethodMeta meta, source.method_meta(name));
  RL_TRY(require_backends(meta, environment.backends));
  loaded->budget_.limit = environment.limits.memory;
  Environment own = environment;
  if (!memory.planned) {
    RL_TRY(loaded->allocate_planned(meta));
    own.state = &loaded->program_->state();
  }
  if (loaded->data_) own.data = loaded->data_.get();
  const MemoryManager used{memory.method ? memory.method : &loaded->method_memory_,
                           memory.planned ? memory.planned : loaded->planned_memory_.get(),
                           memory.temporary ? memory.temporary : &loaded->temporary_memory_};
  RL_ASSIGN(Method method, Method::load(source, name, used, own));
  loaded->method_ = std::make_unique<Method>(std::move(method));
  loaded->inputs_set_.resize(loaded->method_->inputs_size());
  RL_LOG(Debug, "method %.*s is loaded: %zu bytes planned, %zu threads", static_cast<int>(name.size()), name.data(),
         loaded->planned_bytes_, environment.threads ? environment.threads->thread_count() : size_t{1});
  return loaded;
}

LoadedMethod::~LoadedMethod() {
  method_.reset();
  for (void* memory : arenas_) platform::release(memory);
  for (const Span<uint8_t> memory : outputs_) platform::release(memory.data());
  if (copies_.data()) platform::release(copies_.data());
}

Error LoadedMethod::allocate_planned(const MethodMeta& meta) {
  const size_t count = meta.num_memory_planned_buffers();
  for (size_t i = 0; i < count; ++i) {
    RL_ASSIGN(const size_t size, meta.memory_planned_buffer_size(i));
    RL_REQUIRE(
        budget_.take(size), OutOfResources,
        "planned memory %zu of method '%.80s' has %zu bytes: this exceeds the limit of %zu bytes (Limits::memory)",
        i + 1, meta.name().data(), size, budget_.limit);
    if (program_->state().shares(i)) {
      RL_ASSIGN(const Span<uint8_t> shared, program_->state().arena(i, size));
      planned_.push_back(shared);
      continue;
    }
    void* memory = platform::allocate(size, kArenaAlignment);
    RL_REQUIRE(memory, MemoryAllocationFailed, "no memory for the %zu bytes of planned memory %zu of method '%.80s'",
               size, i + 1, meta.name().data());
    arenas_.push_back(memory);
    planned_.emplace_back(static_cast<uint8_t*>(memory), size);
    planned_bytes_ += size;
  }
  planned_memory_ = std::make_unique<HierarchicalAllocator>(Span<Span<uint8_t>>(planned_.data(), planned_.size()));
  return Error::Ok;
}

bool LoadedMethod::is_planned(const void* address) const { return contain(planned_, address); }

bool LoadedMethod::is_overwritten(const void* address) const {
  return contain(planned_, address) || contain(outputs_, address) || contain({&copies_, 1}, address);
}

Error LoadedMethod::count_output(size_t index, size_t size) {
  RL_REQUIRE(budget_.take(size), OutOfResources,
             "output %zu has %zu bytes: this exceeds the limit of %zu bytes (Limits::memory)", index, size,
             budget_.limit);
  return Error::Ok;
}

Error LoadedMethod::allocate_outputs() {
  for (size_t i = 0; i < method_->outputs_size(); ++i) {
    if (!method_->output_needs_memory(i)) continue;
    const EValue& output = method_->get_output(i);
    if (output.is_tensor() && output.to_tensor().const_data_ptr()) continue;
    RL_ASSIGN(const TensorInfo info, method_->meta().output_tensor_meta(i));
    RL_TRY(count_output(i, info.nbytes));
    void* memory = platform::allocate(info.nbytes, kArenaAlignment);
    RL_REQUIRE(memory, MemoryAllocationFailed, "no memory for the %zu bytes of output %zu", info.nbytes, i);
    outputs_.emplace_back(static_cast<uint8_t*>(memory), info.nbytes);
    RL_TRY(method_->set_output_data_ptr(i, memory, info.nbytes));
  }
  return Error::Ok;
}

Error LoadedMethod::set_input(size_t index, const EValue& value) {
  RL_TRY(method_->set_input(index, value));
  inputs_set_[index] = true;
  return Error::Ok;
}

Error LoadedMethod::run(Span<const EValue> inputs) {
  const Error error = set_inputs_and_execute(inputs);
  // The method may read the caller's memory in place, which need not exist in a later call.
  for (size_t i = 0; i < std::min(inputs.size(), inputs_set_.size()); ++i) inputs_set_[i] = false;
  return error;
}

// Returns the bytes of the copy that a run needs of an input, a multiple of the alignment. It is 0 if the run
// overwrites no element of the input, or if the input already is in its own planned memory.
size_t LoadedMethod::bytes_to_copy(size_t index, const EValue& value) const {
  if (index >= inputs_set_.size() || !value.is_tensor() || !is_overwritten(value.to_tensor().const_data_ptr()))
    return 0;
  const EValue& own = method_->get_input(index);
  const void* const data = value.to_tensor().const_data_ptr();
  if (!method_->input_needs_memory(index) && own.is_tensor() && own.to_tensor().const_data_ptr() == data) return 0;
  return (value.to_tensor().nbytes() + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

Error LoadedMethod::set_inputs_and_execute(Span<const EValue> inputs) {
  size_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) bytes += bytes_to_copy(i, inputs[i]);
  if (bytes == 0) {
    for (size_t i = 0; i < inputs.size(); ++i) RL_TRY(set_input(i, inputs[i]));
  } else {
    auto* const copies = static_cast<uint8_t*>(platform::allocate(bytes, kArenaAlignment));
    RL_REQUIRE(copies, MemoryAllocationFailed, "no memory for copies of %zu bytes of inputs", bytes);
    std::vector<TensorImpl> tensors;
    tensors.reserve(inputs.size());
    std::vector<EValue> values(inputs.begin(), inputs.end());
    uint8_t* next = copies;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t size = bytes_to_copy(i, inputs[i]);
      if (size == 0) continue;
      const Tensor given = inputs[i].to_tensor();
      std::memcpy(next, given.const_data_ptr(), given.nbytes());
      tensors.push_back(*given.impl());
      tensors.back().data = next;
      values[i] = EValue(&tensors.back());
      next += size;
    }
    if (copies_.data()) platform::release(copies_.data());
    copies_ = {copies, bytes};
    for (size_t i = 0; i < values.size(); ++i) RL_TRY(set_input(i, values[i]));
  }
  for (size_t i = 0; i < inputs_set_.size(); ++i) {
    RL_REQUIRE(inputs_set_[i], InvalidArgument, "method '%.80s' has %zu inputs, but %zu are given",
               method_->meta().name().data(), inputs_set_.size(), inputs.size());
  }
  return method_->execute();
}

}  // namespace rushlight
