#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/openvino/api.h"
#include "backends/openvino/payload.h"
#include "rushlight/core/backend.h"

namespace rushlight::openvino {

// A compiled OpenVINO model with one infer request. It is the delegate handle of a lowered module.
class Model {
 public:
  static constexpr size_t kMaxProperties = 8;

  struct Options {
    const char* device = "CPU";
    // A name, its value, the next name, its value, ...
    const char* properties[2 * kMaxProperties] = {};
    size_t count = 0;  // number of strings in `properties`
  };

  // Compiles or imports a model. `payload` must outlive the model. Exported models accept no properties.
  static Result<Model*> make(const Api& api, const Payload& payload, const Options& options,
                             MemoryAllocator& allocator);
  ~Model();

  // Runs the model. `arguments` are tensors: inputs first, then outputs.
  Error execute(Span<EValue* const> arguments);

 private:
  struct Port {
    ElementType type = 0;
    bool is_static = false;
    // The current tensor of the port, and the memory and shape of this tensor.
    ov_tensor* tensor = nullptr;
    const void* data = nullptr;
    int64_t sizes[kMaxDim] = {};
    int64_t rank = -1;
  };

  explicit Model(const Api& api) : api_(api) {}
  Error compile(const Payload& payload, const Options& options);
  Error read_ports(MemoryAllocator& allocator);
  Error describe(bool is_input, size_t index, Port* port);
  Error set(size_t index, const Tensor& tensor);
  Error copy_output(size_t index, const Tensor& tensor);

  const Api& api_;
  ov_core* core_ = nullptr;
  ov_compiled_model* compiled_ = nullptr;
  ov_infer_request* request_ = nullptr;
  Span<Port> ports_;  // inputs, then outputs
  size_t inputs_ = 0;
};

}  // namespace rushlight::openvino
