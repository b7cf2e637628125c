// Programs that the tests of this folder run, and a data loader that counts its calls.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "executorch/runtime/core/data_loader.h"
#include "executorch/runtime/core/evalue.h"
#include "tests/support/kernels.h"

namespace executorch {

// Returns the bytes of a program that adds two tensors of two elements with the given operator.
inline std::vector<uint8_t> adding(const char* name, const char* overload,
                                   aten::ScalarType dtype = aten::ScalarType::Float) {
  ::rushlight::testing::ProgramSpec spec = ::rushlight::testing::add_program();
  for (int i = 0; i < 3; ++i) {
    ::rushlight::testing::TensorSpec tensor;
    tensor.dtype = dtype;
    tensor.sizes = {2};
    tensor.offset = static_cast<uint64_t>(16 * i);
    spec.plans[0].values[static_cast<size_t>(i)] = ::rushlight::testing::value(tensor);
  }
  spec.plans[0].memories = {0, 64};
  spec.plans[0].operators = {{name, overload}};
  return ::rushlight::testing::build(spec);
}

// A custom loader of the application, which counts its calls. Its destructor sets the count to -1.
class CountingLoader final : public runtime::DataLoader {
 public:
  CountingLoader(std::vector<uint8_t> bytes, int* loads) : bytes_(std::move(bytes)), loads_(loads) {}
  ~CountingLoader() override { *loads_ = -1; }
  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return runtime::Error::InvalidArgument;
    ++*loads_;
    void* copy = std::aligned_alloc(64, (size + 63) / 64 * 64);
    std::memcpy(copy, bytes_.data() + offset, size);
    return runtime::FreeableBuffer(copy, size, [](void*, void* data, size_t) { std::free(data); });
  }
  runtime::Result<size_t> size() const override { return bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
  int* loads_;
};

inline std::unique_ptr<CountingLoader> loader_of(std::vector<uint8_t> bytes, int* loads) {
  return std::make_unique<CountingLoader>(std::move(bytes), loads);
}

inline std::vector<float> floats(const runtime::EValue& value) {
  const float* data = value.toTensor().const_data_ptr<float>();
  return {data, data + value.toTensor().numel()};
}

}  // namespace executorch
