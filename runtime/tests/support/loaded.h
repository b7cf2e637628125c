// Loads programs of tests from memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rushlight/module/module.h"
#include "tests/support/kernels.h"

namespace rushlight::testing {

inline Environment test_environment() {
  static const KernelTable tables[] = {test_kernels()};
  Environment environment;
  environment.kernels = tables;
  return environment;
}

// Returns the program, or null. `bytes` must outlive it.
inline std::shared_ptr<LoadedProgram> load_program(const std::vector<uint8_t>& bytes) {
  auto loaded = LoadedProgram::from_buffer(bytes.data(), bytes.size());
  return loaded.ok() ? *loaded : nullptr;
}

// A program and its method.
struct Fixture {
  explicit Fixture(const ProgramSpec& spec, Environment environment = test_environment(),
                   std::shared_ptr<LoadedData> data = nullptr, const char* name = "forward")
      : bytes(build(spec)) {
    program = load_program(bytes);
    error = program ? Error::Ok : Error::InvalidProgram;
    if (!program) {
      message = last_error_message();
      return;
    }
    auto result = LoadedMethod::load(program, name, environment, std::move(data));
    error = result.error();
    if (result.ok()) {
      loaded = std::move(*result);
    } else {
      message = last_error_message();
    }
  }
  Method& method() { return loaded->method(); }
  bool ok() const { return loaded != nullptr; }

  std::vector<uint8_t> bytes;
  std::shared_ptr<LoadedProgram> program;
  std::unique_ptr<LoadedMethod> loaded;
  Error error = Error::Ok;
  std::string message;
};

// A dense tensor that owns its memory.
template <typename T>
struct OwnTensor {
  OwnTensor(std::vector<SizesType> shape, std::vector<T> elements)
      : sizes(std::move(shape)), strides(sizes.size()), order(sizes.size()), data(std::move(elements)) {
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i);
    strides_from_dim_order({sizes.data(), sizes.size()}, order.data(), strides.data());
    impl.data = data.data();
    impl.sizes = sizes.data();
    impl.strides = strides.data();
    impl.dim_order = order.data();
    impl.numel = checked_numel({sizes.data(), sizes.size()});
    impl.capacity = data.size() * sizeof(T);
    impl.dtype = scalar_type_of<T>;
    impl.dim = static_cast<uint8_t>(sizes.size());
  }
  EValue value() { return EValue(&impl); }

  std::vector<SizesType> sizes;
  std::vector<StridesType> strides;
  std::vector<uint8_t> order;
  std::vector<T> data;
  TensorImpl impl;
};

inline std::vector<float> floats_of(const EValue& value) {
  const Tensor tensor = value.to_tensor();
  const float* data = tensor.const_data_ptr<float>();
  return {data, data + tensor.numel()};
}

#define EXPECT_MESSAGE(part)                                                              \
  EXPECT_NE(std::string(::rushlight::last_error_message()).find(part), std::string::npos) \
      << "the message is: " << ::rushlight::last_error_message()

}  // namespace rushlight::testing
