#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rushlight/module/defaults.h"
#include "rushlight/module/module.h"

namespace rushlight::testing {

inline constexpr size_t kMostPlannedBytes = size_t{1} << 24;
inline constexpr int kMostSteps = 200;

// Loads every method of bytes that may be damaged, gives it inputs of zeros and runs some of its instructions: the
// first error, or Ok. A method that asks for much memory is not run, as a host would not.
inline Error run_hostile(const uint8_t* data, size_t size) {
  RL_ASSIGN(const auto program, LoadedProgram::from_buffer(data, size));
  Environment environment;
  environment.kernels = default_kernels();
  environment.backends = default_backends();
  Error first = Error::Ok;
  for (size_t i = 0; i < program->program().num_methods(); ++i) {
    RL_ASSIGN(const auto name, program->program().method_name(i));
    RL_ASSIGN(const auto meta, program->program().method_meta(name));
    size_t planned = 0;
    for (size_t j = 0; j < meta.num_memory_planned_buffers(); ++j) {
      RL_ASSIGN(const size_t bytes, meta.memory_planned_buffer_size(j));
      planned = bytes < kMostPlannedBytes ? planned + bytes : kMostPlannedBytes;
    }
    RL_REQUIRE(planned < kMostPlannedBytes, OutOfResources, "method %zu asks for too much memory", i);
    auto loaded = LoadedMethod::load(program, name, environment);
    if (!loaded.ok()) {
      first = loaded.error();
      continue;
    }
    RL_TRY((*loaded)->allocate_outputs());
    Method& method = (*loaded)->method();
    std::vector<std::vector<uint8_t>> memory;
    for (size_t j = 0; j < method.inputs_size(); ++j) {
      EValue value = method.get_input(j);
      if (!value.is_tensor()) continue;
      TensorImpl tensor = *value.to_tensor().impl();
      memory.emplace_back(Tensor(&tensor).nbytes() + 1);
      tensor.data = memory.back().data();
      RL_TRY(method.set_input(j, EValue(&tensor)));
    }
    Error error = Error::Ok;
    for (int step = 0; step < kMostSteps && error == Error::Ok; ++step) error = method.step();
    if (error != Error::Ok && error != Error::EndOfMethod) first = error;
  }
  return first;
}

}  // namespace rushlight::testing
