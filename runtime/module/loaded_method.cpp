#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <utility>

#include "core/message.h"
#include "rushlight/module/backends.h"
#include "rushlight/module/module.h"
#include "rushlight/platform/platform.h"

namespace rushlight {
namespace {

constexpr size_t kArenaAlignment = 64;

// Returns whether an address is in the `size` bytes at `memory`.
bool contains(const void* memory, size_t size, const void* address) {
  const auto start = reinterpret_cast<uintptr_t>(memory);
  const auto place = reinterpret_cast<uintptr_t>(address);
  return place >= start && place - start < size;
}

}  // namespace

// A copy of elements that an input uses.
struct LoadedMethod::Copy {
  ~Copy() {
    if (data) platform::release(data);
  }
  void* data = nullptr;
  size_t size = 0;
};

// A tensor given for input `index`, with a shape and elements that do not change while other inputs are set.
struct LoadedMethod::HeldTensor {
  HeldTensor(size_t input, const Tensor& tensor) : index(input), impl(*tensor.impl()) {
    std::copy(tensor.sizes().begin(), tensor.sizes().end(), sizes);
    std::copy(tensor.strides().begin(), tensor.strides().end(), strides);
    impl.sizes = sizes;
    impl.strides = strides;
  }
  HeldTensor(const HeldTensor&) = delete;
  HeldTensor& operator=(const HeldTensor&) = delete;

  Error copy_elements() {
    const size_t size = Tensor(&impl).nbytes();
    if (size == 0) return Error::Ok;
    copy = std::make_unique<Copy>();
    copy->data = platform::allocate(size, kArenaAlignment);
    RL_REQUIRE(copy->data, MemoryAllocationFailed, "no memory for a copy of the %zu bytes of input %zu", size, index);
    copy->size = size;
    impl.data = std::memcpy(copy->data, impl.data, size);
    return Error::Ok;
  }

  size_t index;
  TensorImpl impl;
  SizesType sizes[kMaxDim];
  StridesType strides[kMaxDim];
  std::unique_ptr<Copy> copy;
};

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
  if (memory.planned) {
    loaded->planned_ = std::vector<Span<uint8_t>>(memory.planned->count());
    for (size_t i = 0; i < memory.planned->count(); ++i) {
      const size_t size = memory.planned->buffer_size(i);
      RL_ASSIGN(void* const data, memory.planned->get(i, 0, size));
      loaded->planned_[i] = {static_cast<uint8_t*>(data), size};
    }
  } else {
    RL_TRY(loaded->allocate_planned(meta));
    own.state = &loaded->program_->state();
  }
  if (loaded->data_) own.data = loaded->data_.get();
  const MemoryManager used{memory.method ? memory.method : &loaded->method_memory_,
                           memory.planned ? memory.planned : loaded->planned_memory_.get(),
                           memory.temporary ? memory.temporary : &loaded->temporary_memory_};
  RL_ASSIGN(Method method, Method::load(source, name, used, own));
  loaded->method_ = std::make_unique<Method>(std::move(method));
  loaded->inputs_ = std::vector<Input>(loaded->method_->inputs_size());
  for (size_t i = 0; i < loaded->inputs_.size(); ++i) {
    const EValue& value = loaded->method_->get_input(i);
    if (value.is_tensor()) loaded->inputs_[i].tensor = value.to_tensor().impl();
  }
  RL_LOG(Debug, "method %.*s is loaded: %zu bytes planned, %zu threads", static_cast<int>(name.size()), name.data(),
         loaded->planned_bytes_, environment.threads ? environment.threads->thread_count() : size_t{1});
  return loaded;
}

LoadedMethod::~LoadedMethod() {
  method_.reset();
  for (void* memory : arenas_) platform::release(memory);
  for (void* memory : outputs_) platform::release(memory);
}

Error LoadedMethod::allocate_planned(const MethodMeta& meta) {
  const size_t count = meta.num_memory_planned_buffers();
  planned_ = std::vector<Span<uint8_t>>(count);
  for (size_t i = 0; i < count; ++i) {
    RL_ASSIGN(const size_t size, meta.memory_planned_buffer_size(i));
    RL_REQUIRE(
        budget_.take(size), OutOfResources,
        "planned memory %zu of method '%.80s' has %zu bytes: this exceeds the limit of %zu bytes (Limits::memory)",
        i + 1, meta.name().data(), size, budget_.limit);
    if (program_->state().shares(i)) {
      RL_ASSIGN(planned_[i], program_->state().arena(i, size));
      continue;
    }
    void* memory = platform::allocate(size, kArenaAlignment);
    RL_REQUIRE(memory, MemoryAllocationFailed, "no memory for the %zu bytes of planned memory %zu of method '%.80s'",
               size, i + 1, meta.name().data());
    arenas_.push_back(memory);
    planned_[i] = {static_cast<uint8_t*>(memory), size};
    planned_bytes_ += size;
  }
  planned_memory_ = std::make_unique<HierarchicalAllocator>(Span<Span<uint8_t>>(planned_.data(), planned_.size()));
  return Error::Ok;
}

bool LoadedMethod::is_planned(const void* address) const {
  return std::any_of(planned_.begin(), planned_.end(),
                     [&](const Span<uint8_t>& memory) { return contains(memory.data(), memory.size(), address); });
}

bool LoadedMethod::is_overwritten(const void* address) const {
  if (is_planned(address)) return true;
  for (size_t i = 0; i < method_->outputs_size(); ++i) {
    const EValue& output = method_->get_output(i);
    if (!output.is_tensor()) continue;
    const TensorImpl& tensor = *output.to_tensor().impl();
    const bool is_written = method_->output_needs_memory(i) || tensor.growth;
    if (is_written && contains(tensor.data, tensor.capacity, address)) return true;
  }
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.copy && contains(input.copy->data, input.copy->size, address);
  });
}

bool LoadedMethod::is_changed(size_t index, const EValue& value) const {
  if (index >= inputs_.size() || !value.is_tensor()) return false;
  const TensorImpl* const given = value.to_tensor().impl();
  const TensorImpl* const own = inputs_[index].tensor;
  if (own && own->data == given->data && !method_->input_needs_memory(index)) return false;
  return is_overwritten(given->data) ||
         std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) { return input.tensor == given; });
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
    outputs_.push_back(memory);
    RL_TRY(method_->set_output_data_ptr(i, memory, info.nbytes));
  }
  return Error::Ok;
}

Error LoadedMethod::set_input(size_t index, const EValue& value) { return set_inputs({&value, 1}, index); }

Error LoadedMethod::set_inputs(Span<const EValue> values, size_t first) {
  std::list<HeldTensor> held;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_changed(first + i, values[i])) continue;
    HeldTensor& tensor = held.emplace_back(first + i, values[i].to_tensor());
    if (is_overwritten(tensor.impl.data)) RL_TRY(tensor.copy_elements());
  }
  for (size_t i = first; i < first + values.size(); ++i) {
    const bool is_held = !held.empty() && held.front().index == i;
    RL_TRY(method_->set_input(i, is_held ? EValue(&held.front().impl) : values[i - first]));
    Input& input = inputs_[i];
    input.is_set = true;
    input.copy = is_held && method_->input_needs_memory(i) ? std::move(held.front().copy) : nullptr;
    if (is_held) held.pop_front();
  }
  return Error::Ok;
}

void LoadedMethod::note_inputs_set() {
  for (Input& input : inputs_) input.is_set = true;
}

Error LoadedMethod::run(Span<const EValue> inputs) {
  const Error error = set_inputs_and_execute(inputs);
  // The method may read the caller's memory in place, which need not exist in a later call.
  for (size_t i = 0; i < std::min(inputs.size(), inputs_.size()); ++i) inputs_[i].is_set = false;
  return error;
}

Error LoadedMethod::set_inputs_and_execute(Span<const EValue> inputs) {
  RL_TRY(set_inputs(inputs));
  size_t unset = 0;
  while (unset < inputs_.size() && inputs_[unset].is_set) ++unset;
  RL_REQUIRE(unset == inputs_.size(), InvalidArgument,
             "method '%.80s' has %zu input%s, but %zu %s given: input %zu has not been set",
             method_->meta().name().data(), inputs_.size(), plural(inputs_.size()), inputs.size(),
             inputs.size() == 1 ? "is" : "are", unset);
  return method_->execute();
}

}  // namespace rushlight
