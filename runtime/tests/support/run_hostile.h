#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rushlight/module/defaults.h"
#include "rushlight/module/module.h"

namespace rushlight::testing {

// The limits that a host sets for an untrusted method.
inline constexpr Limits kHostileLimits{1000, size_t{1} << 22};

// Generates bytes for inputs: zeros, small numbers, -1 or NaN, or random bytes.
class InputBytes {
 public:
  // The inputs depend only on the bytes of the file.
  InputBytes(const uint8_t* data, size_t size) {
    for (size_t i = 0; i < size; i += 1 + size / 1024) state_ = (state_ ^ data[i]) * 0x100000001b3u;  // FNV-1a
  }
  void fill(std::vector<uint8_t>& bytes, ScalarType dtype) {
    const uint64_t kind = next() % 4;
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = kind == 0   ? 0
                 : kind == 1 ? (i % element_size(dtype) == 0 ? static_cast<uint8_t>(next() % 4) : 0)
                 : kind == 2 ? 0xff
                             : static_cast<uint8_t>(next());
      if (dtype == ScalarType::Bool) bytes[i] &= 1;
    }
  }

 private:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ >> 8;
  }
  uint64_t state_ = 0xcbf29ce484222325u;
};

// Sets every tensor input of a method to its own memory with bytes from `values`.
inline Error set_hostile_inputs(Method& method, InputBytes& values, std::vector<std::vector<uint8_t>>* memory) {
  memory->reserve(method.inputs_size());
  for (size_t j = 0; j < method.inputs_size(); ++j) {
    const EValue value = method.get_input(j);
    if (!value.is_tensor()) continue;
    TensorImpl tensor = *value.to_tensor().impl();
    RL_REQUIRE(Tensor(&tensor).nbytes() <= kHostileLimits.memory, OutOfResources, "input %zu is large", j);
    memory->emplace_back(Tensor(&tensor).nbytes());
    std::vector<uint8_t>& bytes = memory->back();
    values.fill(bytes, tensor.dtype);
    if (bytes.empty()) bytes.reserve(1);
    tensor.data = bytes.data();
    RL_TRY(method.set_input(j, EValue(&tensor)));
  }
  return Error::Ok;
}

// Loads every method of a possibly damaged program, sets inputs, and executes it within the limits. Returns the first
// error, or Ok. `outside` contains the tensors that are stored outside of the program.
inline Error run_hostile(const uint8_t* data, size_t size, const std::shared_ptr<LoadedData>& outside = nullptr) {
  RL_ASSIGN(const auto program, LoadedProgram::from_buffer(data, size));
  Environment environment;
  environment.kernels = default_kernels();
  environment.backends = default_backends();
  environment.limits = kHostileLimits;
  InputBytes values(data, size);
  Error first = Error::Ok;
  for (size_t i = 0; i < program->program().num_methods(); ++i) {
    RL_ASSIGN(const auto name, program->program().method_name(i));
    auto loaded = LoadedMethod::load(program, name, environment, outside);
    if (!loaded.ok()) {
      first = loaded.error();
      continue;
    }
    RL_TRY((*loaded)->allocate_outputs());
    Method& method = (*loaded)->method();
    std::vector<std::vector<uint8_t>> memory;
    RL_TRY(set_hostile_inputs(method, values, &memory));
    const Error error = method.execute();
    if (error != Error::Ok) first = error;
  }
  return first;
}

}  // namespace rushlight::testing
