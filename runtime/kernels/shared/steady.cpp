#include "kernels/shared/steady.h"

#include <cstring>
#include <new>

namespace rushlight {
namespace {

constexpr uint16_t kMaxArity = 32;

// A tensor that owns its memory and sizes.
struct Copy {
  TensorImpl impl;
  SizesType sizes[kMaxDim];
  StridesType strides[kMaxDim];
  EValue value;
};

// Returns whether a write to `out`, which may be resized within its capacity, can change `in`.
bool changes(const Tensor& out, const Tensor& in) {
  if (out.impl() == in.impl()) return true;
  const auto written = reinterpret_cast<uintptr_t>(out.const_data_ptr());
  const auto read = reinterpret_cast<uintptr_t>(in.const_data_ptr());
  return written < read + in.nbytes() && read < written + out.impl()->capacity;
}

class Call {
 public:
  Call(KernelRuntimeContext& context, const BoxedKernel& kernel, EValue* const* given)
      : context_(context), kernel_(kernel), given_(given) {
    for (uint16_t i = 0; i < kernel.arity; ++i) arguments_[i] = given[i];
  }

  // Replaces an argument by a copy if a write can change it. Returns false if there is no memory.
  bool steady(uint16_t argument) {
    EValue& value = *given_[argument];
    if (value.tag == Tag::Tensor) return steady(value, &arguments_[argument]);
    return value.tag != Tag::ListOptionalTensor || steady_list(argument, *value.optional_tensor_list());
  }

  void run() { kernel_.call(context_, arguments_); }

 private:
  bool is_written(const Tensor& tensor) const {
    for (uint16_t i = 0; i < kernel_.arity; ++i) {
      if (kernel_.kinds[i] == ArgKind::OutTensor && changes(given_[i]->to_tensor(), tensor)) return true;
      if (kernel_.kinds[i] != ArgKind::OutTensorList) continue;
      for (const Tensor& out : given_[i]->to_tensor_list()) {
        if (changes(out, tensor)) return true;
      }
    }
    return false;
  }

  // Sets *target to a copy of `value` if a write can change it, and else to `value`.
  bool steady(EValue& value, EValue** target) {
    *target = &value;
    if (value.tag != Tag::Tensor || !is_written(value.to_tensor())) return true;
    const Tensor tensor = value.to_tensor();
    void* memory = context_.allocate_temporary(sizeof(Copy));
    void* data = memory ? context_.allocate_temporary(tensor.nbytes() + 1) : nullptr;
    if (!data) return false;
    Copy* copy = new (memory) Copy{*tensor.impl(), {}, {}, {}};
    for (int64_t i = 0; i < tensor.dim(); ++i) {
      copy->sizes[i] = tensor.size(i);
      copy->strides[i] = tensor.stride(i);
    }
    copy->impl.data = data;
    copy->impl.sizes = copy->sizes;
    copy->impl.strides = copy->strides;
    if (tensor.nbytes() > 0) std::memcpy(data, tensor.const_data_ptr(), tensor.nbytes());
    copy->value = EValue(&copy->impl);
    *target = &copy->value;
    return true;
  }

  bool steady_list(uint16_t argument, const BoxedList<std::optional<Tensor>>& list) {
    EValue** values = context_.allocate_temporary_array<EValue*>(list.size + 1);
    void* memory = values ? context_.allocate_temporary(sizeof(List)) : nullptr;
    if (!memory) return false;
    for (uint32_t i = 0; i < list.size; ++i) {
      values[i] = list.values[i];
      if (values[i] && !steady(*list.values[i], &values[i])) return false;
    }
    List* copy = new (memory) List{{values, list.items, list.size}, {}};
    copy->value = EValue(&copy->list);
    arguments_[argument] = &copy->value;
    return true;
  }

  struct List {
    BoxedList<std::optional<Tensor>> list;
    EValue value;
  };

  KernelRuntimeContext& context_;
  const BoxedKernel& kernel_;
  EValue* const* given_;
  EValue* arguments_[kMaxArity];
};

}  // namespace

void call_steady(KernelRuntimeContext& context, const BoxedKernel& kernel, uint32_t arguments, EValue* const* given) {
  RL_KERNEL_REQUIRE(context, kernel.arity <= kMaxArity, NotSupported, "the kernel has more than %d arguments",
                    kMaxArity);
  Call call(context, kernel, given);
  for (uint16_t i = 0; i < kernel.arity; ++i) {
    if (((arguments >> i) & 1u) != 0 && !call.steady(i)) return;
  }
  call.run();
}

}  // namespace rushlight
