// Defines a backend, and runs a program that uses it: custom_backend MODEL
//
// The payload is a text with one letter for each operation on a value, which starts as the first input: '+' adds the
// second input, '*' multiplies by it.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>

#include <cstdio>
#include <cstring>
#include <new>

using executorch::aten::Tensor;
using executorch::runtime::ArrayRef;
using executorch::runtime::Backend;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendInterface;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

struct Letters {
  const char* text;
  size_t size;
};

class LetterBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> compile_specs) const override {
    MemoryAllocator* allocator = context.get_runtime_allocator();
    auto* letters = allocator->allocateInstance<Letters>();
    if (letters == nullptr) return Error::MemoryAllocationFailed;
    for (const CompileSpec& spec : compile_specs) {
      std::printf("option %s of %zu bytes\n", spec.key, spec.value.nbytes);
    }
    char* text = allocator->allocateList<char>(processed->size());
    if (text == nullptr) return Error::MemoryAllocationFailed;
    std::memcpy(text, processed->data(), processed->size());
    new (letters) Letters{text, processed->size()};
    processed->Free();
    return letters;
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const override {
    const auto* letters = static_cast<const Letters*>(handle);
    const Tensor& x = args[0]->toTensor();
    const Tensor& y = args[1]->toTensor();
    Tensor& out = args[2]->toTensor();
    auto* scratch = static_cast<float*>(context.allocate(x.nbytes(), alignof(float)));
    if (scratch == nullptr) return Error::MemoryAllocationFailed;
    std::memcpy(scratch, x.const_data_ptr(), x.nbytes());
    for (size_t step = 0; step < letters->size; ++step) {
      for (ssize_t i = 0; i < x.numel(); ++i) {
        const float other = y.const_data_ptr<float>()[i];
        scratch[i] = letters->text[step] == '+' ? scratch[i] + other : scratch[i] * other;
      }
    }
    std::memcpy(out.mutable_data_ptr(), scratch, out.nbytes());
    return Error::Ok;
  }
};

LetterBackend backend;
const Error registered = executorch::runtime::register_backend(Backend{"LetterBackend", &backend});

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using namespace executorch::extension;
  ET_CHECK(registered == Error::Ok && executorch::runtime::get_backend_class("LetterBackend") == &backend);
  Module module(argv[1]);
  const auto meta = module.method_meta("forward");
  ET_CHECK(meta.ok() && meta->uses_backend("LetterBackend"));
  const auto result = module.forward({make_tensor_ptr({1.0f, 2.0f, 3.0f}), make_tensor_ptr({10.0f, 20.0f, 30.0f})});
  ET_CHECK_MSG(result.ok(), "the method fails");
  for (ssize_t i = 0; i < 3; ++i) std::printf("%g\n", result->at(0).toTensor().const_data_ptr<float>()[i]);
  return 0;
}
