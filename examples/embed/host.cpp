// host FILE.pte: runs `forward` of a program on a host. Every input is filled with ones.

#include <cstdio>
#include <vector>

#include "rushlight/module/defaults.h"
#include "rushlight/module/module.h"
#include "rushlight/threads/thread_pool.h"

static int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, rushlight::last_error_message());
  return 1;
}

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: host FILE.pte\n");
    return 2;
  }
  rushlight::Module::Options options;
  options.environment.kernels = rushlight::default_kernels();
  options.environment.backends = rushlight::default_backends();
  options.environment.threads = &rushlight::default_thread_pool();
  auto module = rushlight::Module::load(arguments[1], options);
  if (!module.ok()) return failed("cannot load");

  auto meta = (*module)->program().method_meta("forward");
  if (!meta.ok()) return failed("cannot run");
  std::vector<rushlight::TensorPtr> tensors;
  std::vector<rushlight::EValue> inputs;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    auto info = meta->input_tensor_meta(i);
    if (!info.ok()) return failed("cannot create an input");
    tensors.push_back(rushlight::ones({info->sizes.begin(), info->sizes.end()}, info->dtype));
    inputs.push_back(rushlight::value_of(tensors.back()));
  }
  auto outputs = (*module)->forward({inputs.data(), inputs.size()});
  if (!outputs.ok()) return failed("cannot run");

  for (const rushlight::EValue& output : *outputs) {
    if (!output.is_tensor() || output.to_tensor().scalar_type() != rushlight::ScalarType::Float) continue;
    const rushlight::Tensor tensor = output.to_tensor();
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      std::printf("%g\n", static_cast<double>(tensor.const_data_ptr<float>()[i]));
    }
  }
  return 0;
}
