// Trains a network on the exclusive or of two bits: train_xor MODEL [WEIGHTS]
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/training/module/training_module.h>
#include <executorch/extension/training/optimizer/sgd.h>

#include <cstdint>
#include <cstdio>
#include <memory>

using executorch::extension::FileDataLoader;
using executorch::extension::make_tensor_ptr;
using executorch::extension::training::TrainingModule;
using executorch::extension::training::optimizer::SGD;
using executorch::extension::training::optimizer::SGDOptions;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;

namespace {

std::unique_ptr<DataLoader> open(const char* path) {
  auto loader = FileDataLoader::from(path);
  ET_CHECK_MSG(loader.ok(), "cannot read %s", path);
  return std::make_unique<FileDataLoader>(std::move(loader.get()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  TrainingModule module(open(argv[1]), nullptr, nullptr, nullptr, argc == 3 ? open(argv[2]) : nullptr);

  const auto parameters = module.named_parameters("forward");
  if (!parameters.ok()) return 1;
  std::printf("parameters:");
  for (const auto& [name, tensor] : parameters.get()) {
    std::printf(" %.*s", static_cast<int>(name.size()), name.data());
    ET_CHECK(tensor.numel() > 0);
  }
  std::printf("\n");

  SGD optimizer(parameters.get(), SGDOptions(0.1, /*momentum=*/0.9));
  constexpr int kSteps = 1000;
  int64_t predicted[4] = {};
  for (int i = 0; i < kSteps; ++i) {
    const int first = i / 2 % 2;
    const int second = i % 2;
    const auto bits = make_tensor_ptr({1, 2}, {static_cast<float>(first), static_cast<float>(second)});
    const auto label = make_tensor_ptr<int64_t>({1}, {first ^ second});
    const auto results = module.execute_forward_backward("forward", {bits, label});
    if (!results.ok()) return 1;
    predicted[i % 4] = results->at(1).toTensor().const_data_ptr<int64_t>()[0];
    if (i % 250 == 0 || i == kSteps - 1) {
      std::printf("step %d: loss %f\n", i, static_cast<double>(results->at(0).toTensor().const_data_ptr<float>()[0]));
    }
    const auto gradients = module.named_gradients("forward");
    if (!gradients.ok() || optimizer.step(gradients.get()) != Error::Ok) return 1;
  }
  for (int i = 0; i < 4; ++i) std::printf("%d xor %d: %d\n", i / 2, i % 2, static_cast<int>(predicted[i]));
  return 0;
}
