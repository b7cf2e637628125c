// run FILE.pte: runs `forward` on ones with StackBackend beside the kernels, and prints the first output's first value.

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
  const rushlight::Backend backends[] = {stack_backend()};
  rushlight::Environment environment;
  environment.kernels = rushlight::default_kernels();
  environment.backends = backends;
  auto program = rushlight::LoadedProgram::from_file(arguments[1]);
  auto method = program.ok() ? rushlight::LoadedMethod::load(*program, "forward", environment)
                             : rushlight::Result<std::unique_ptr<rushlight::LoadedMethod>>(program.error());
  if (!method.ok()) return failed();
  rushlight::Method& forward = (*method)->method();
  std::vector<std::vector<float>> ones;
  for (size_t i = 0; i < forward.inputs_size(); ++i) {
    // The tensor as it is, over memory of our own.
    rushlight::TensorImpl input = *forward.get_input(i).to_tensor().impl();
    ones.emplace_back(static_cast<size_t>(input.numel), 1.0f);
    input.data = ones.back().data();
    if (forward.set_input(i, rushlight::EValue(&input)) != rushlight::Error::Ok) return failed();
  }
  if ((*method)->allocate_outputs() != rushlight::Error::Ok || forward.execute() != rushlight::Error::Ok)
    return failed();
  std::printf("%g\n", static_cast<double>(*forward.get_output(0).to_tensor().const_data_ptr<float>()));
  return 0;
}
