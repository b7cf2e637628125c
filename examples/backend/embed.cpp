// embed FILE.pte: an application that links the backend and passes its table to the runtime. It runs `forward` on
// inputs of ones and prints the first output.

#include <cstdio>
#include <vector>

#include "rushlight/module/defaults.h"
#include "rushlight/module/module.h"
#include "stack_backend.h"

static int failed() {
  std::fprintf(stderr, "%s\n", rushlight::last_error_message());
  return 1;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const rushlight::BackendOption checked[] = {{"check_finite", rushlight::EValue(true)}};
  const rushlight::BackendOptions backend_options[] = {{"StackBackend", checked}};
  rushlight::Module::Options options;
  options.environment.kernels = rushlight::default_kernels();
  options.environment.backends = stack_backends();
  options.environment.backend_options = backend_options;
  auto module = rushlight::Module::load(arguments[1], options);
  if (!module.ok()) return failed();
  auto method = (*module)->method("forward");
  if (!method.ok()) return failed();
  std::vector<rushlight::TensorPtr> tensors;
  std::vector<rushlight::EValue> inputs;
  const rushlight::Method& forward = (*method)->method();
  for (size_t i = 0; i < forward.inputs_size(); ++i) {
    const auto sizes = forward.get_input(i).to_tensor().sizes();
    tensors.push_back(rushlight::ones({sizes.begin(), sizes.end()}));
    inputs.push_back(rushlight::value_of(tensors.back()));
  }
  auto outputs = (*module)->forward({inputs.data(), inputs.size()});
  if (!outputs.ok()) return failed();
  if (outputs->empty() || !(*outputs)[0].is_tensor()) return 0;
  const rushlight::Tensor first = (*outputs)[0].to_tensor();
  for (int64_t i = 0; i < first.numel(); ++i)
    std::printf("%g\n", static_cast<double>(first.const_data_ptr<float>()[i]));
  return 0;
}
