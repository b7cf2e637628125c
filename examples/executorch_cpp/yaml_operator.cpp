// Runs a program that calls the operator of custom_ops.yaml, with float32 and with float64: yaml_operator MODEL
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using namespace executorch::extension;
  Module module(argv[1]);
  const auto x = make_tensor_ptr({1, 2}, {1.0f, 2.0f});
  const auto y = make_tensor_ptr({1, 2}, {3.0, 4.0});
  const auto outputs = module.forward({x, y});
  ET_CHECK_MSG(outputs.ok(), "the method fails");
  for (ssize_t i = 0; i < 2; ++i) {
    std::printf("%g %g\n", outputs->at(0).toTensor().const_data_ptr<float>()[i],
                outputs->at(1).toTensor().const_data_ptr<double>()[i]);
  }
  return 0;
}
