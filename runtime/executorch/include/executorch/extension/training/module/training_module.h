#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "executorch/extension/module/module.h"
#include "executorch/runtime/core/evalue.h"
#include "executorch/runtime/executor/program.h"

namespace executorch {
namespace extension {
namespace training {

// A program with joint graphs: methods that return the outputs of a model, the gradients and the parameters. Names are
// views into the program, and tensors refer to the memory of the method. Both are valid until the method is unloaded.
class TrainingModule final : public Module {
 public:
  // Uses a program that `data_loader` reads, and data that `data_map_loader` reads. See Module.
  explicit TrainingModule(std::unique_ptr<runtime::DataLoader> data_loader,
                          std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                          std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                          std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                          std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr)
      : Module(std::move(data_loader), std::move(memory_allocator), std::move(temp_allocator), std::move(event_tracer),
               std::move(data_map_loader)) {}

  // Computes the outputs of the model and the gradients. Returns the outputs; they are valid until the next call. This
  // and the following functions return InvalidArgument if the method is not a joint graph.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute_forward_backward(
      const std::string& method_name, const std::vector<runtime::EValue>& input);
  // Returns the parameters by name. The next call reads values that the application writes to them.
  ET_NODISCARD runtime::Result<const std::map<std::string_view, aten::Tensor>> named_parameters(
      const std::string& method_name);
  // Returns the gradients of the last call by the names of their parameters; the next call overwrites them. Returns
  // InvalidState if there was no call.
  ET_NODISCARD runtime::Result<const std::map<std::string_view, aten::Tensor>> named_gradients(
      const std::string& method_name);

 private:
  // The outputs of a joint graph: results, then from index `gradients` the gradients, then from index `parameters` the
  // parameters, both in the order of the names.
  struct JointGraph {
    size_t gradients = 0;
    size_t parameters = 0;
    std::vector<std::string_view> names;
    bool is_executed = false;
  };
  runtime::Result<JointGraph*> joint_graph(const std::string& method_name);
  runtime::Result<const std::map<std::string_view, aten::Tensor>> named(const std::string& method_name,
                                                                        const JointGraph& graph, size_t first);
  std::unordered_map<std::string, JointGraph> graphs_;
};

}  // namespace training
}  // namespace extension
}  // namespace executorch
