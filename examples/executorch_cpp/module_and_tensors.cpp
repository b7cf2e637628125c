// Runs a program with Module and tensors that contain their shape: module_and_tensors MODEL
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <vector>

using namespace ::executorch::extension;
using executorch::aten::ScalarType;
using executorch::runtime::Error;
using executorch::runtime::EValue;

namespace {

void print(const char* name, const executorch::aten::Tensor& tensor) {
  std::printf("%s:", name);
  for (ssize_t i = 0; i < tensor.numel(); ++i) std::printf(" %g", tensor.const_data_ptr<float>()[i]);
  std::printf("\n");
}

// Creates tensors in several ways.
void make_tensors() {
  float numbers[] = {1, 2, 3, 4, 5, 6};
  const auto borrowed = from_blob(numbers, {2, 3});
  const auto transposed = make_tensor_ptr({3, 2}, numbers, {}, {1, 3});
  const auto owned = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const auto doubles = make_tensor_ptr<float>({2}, {1.5f, 2.5f}, {}, {}, ScalarType::Double);
  const auto scalar = make_tensor_ptr(3.5f);
  const auto counted = for_blob(numbers, {6}).type(ScalarType::Float).deleter([](void*) {}).make_tensor_ptr();
  const auto copy = clone_tensor_ptr(borrowed, ScalarType::Half);
  auto shorter = full({4}, 7);
  ET_CHECK(resize_tensor_ptr(shorter, {2}) == Error::Ok);
  const auto random = rand({2, 2});
  ET_CHECK(random->const_data_ptr<float>()[0] >= 0 && random->const_data_ptr<float>()[0] < 1);
  ET_CHECK(borrowed->const_data_ptr() == numbers && owned->const_data_ptr() != numbers);
  ET_CHECK(transposed->strides()[0] == 1 && transposed->dim_order()[0] == 1);
  ET_CHECK(doubles->const_data_ptr<double>()[1] == 2.5 && scalar->dim() == 0 && counted->numel() == 6);
  ET_CHECK(copy->scalar_type() == ScalarType::Half && shorter->numel() == 2);
  auto accessor = make_tensor_accessor<float, 2>(*borrowed);
  ET_CHECK(accessor.ok());
  accessor.get()[1][2] = 60;
  ET_CHECK(numbers[5] == 60);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  make_tensors();

  Module module(argv[1], Module::LoadMode::MmapUseMlockIgnoreErrors);
  ET_CHECK(module.load() == Error::Ok && module.is_loaded());
  const auto names = module.method_names();
  ET_CHECK(names.ok() && names->count("forward") == 1);
  const auto meta = module.method_meta("forward");
  ET_CHECK(meta.ok());
  std::printf("inputs: %zu, outputs: %zu\n", meta->num_inputs(), meta->num_outputs());

  const auto x = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const auto y = ones_like(x);
  const auto outputs = module.forward({x, y});
  ET_CHECK_MSG(outputs.ok(), "the method fails");
  print("forward", outputs->at(0).toTensor());

  // An input that set_input sets is kept for later calls.
  ET_CHECK(module.set_input(full({2, 2}, 10), 1) == Error::Ok);
  const auto result = module.get("forward", EValue(x));
  ET_CHECK(result.ok());
  print("get", result->toTensor());
  ET_CHECK(module.is_method_loaded("forward") && module.unload_forward() && !module.is_method_loaded("forward"));

  // Errors are return values.
  ET_CHECK(module.execute("backward").error() != Error::Ok);
  const auto wrong = make_tensor_ptr({3}, {1.0f, 2.0f, 3.0f});
  ET_CHECK(module.forward({wrong, y}).error() == Error::NotSupported);
  return 0;
}
