#include "backends/openvino/model.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace rushlight::openvino {
namespace {

// Makes a byte tensor that uses `bytes` as its memory. The element type number of bytes differs between releases, so
// all numbers are tried.
ov_tensor* wrap_bytes(const Api& api, Span<const uint8_t> bytes) {
  int64_t size = static_cast<int64_t>(bytes.size());
  for (ElementType type = 1; type < 32; ++type) {
    ov_tensor* tensor = nullptr;
    size_t got = 0;
    if (api.ov_tensor_create_from_host_ptr(type, {1, &size}, const_cast<uint8_t*>(bytes.data()), &tensor) != 0)
      continue;
    if (api.ov_tensor_get_byte_size(tensor, &got) == 0 && got == bytes.size()) return tensor;
    api.ov_tensor_free(tensor);
  }
  return nullptr;
}

}  // namespace

Result<Model*> Model::make(const Api& api, const Payload& payload, const Options& options, MemoryAllocator& allocator) {
  void* memory = allocator.allocate(sizeof(Model), alignof(Model));
  RL_REQUIRE(memory, MemoryAllocationFailed, "no memory for an OpenVINO model");
  Model* model = new (memory) Model(api);
  Error error = model->compile(payload, options);
  if (error == Error::Ok) error = model->read_ports(allocator);
  if (error != Error::Ok) {
    model->~Model();
    return error;
  }
  return model;
}

Model::~Model() {
  for (Port& port : ports_) {
    if (port.tensor) api_.ov_tensor_free(port.tensor);
  }
  if (request_) api_.ov_infer_request_free(request_);
  if (compiled_) api_.ov_compiled_model_free(compiled_);
  if (core_) api_.ov_core_free(core_);
}

Error Model::compile(const Payload& payload, const Options& options) {
  if (api_.ov_core_create(&core_) != 0) return failure(api_, Error::Internal, "create a core");
  const char* text = reinterpret_cast<const char*>(payload.xml.data());
  if (payload.is_exported) {
    if (api_.ov_core_import_model(core_, text, payload.xml.size(), options.device, &compiled_) != 0) {
      return failure(api_, Error::DelegateInvalidCompatibility, "import the compiled model");
    }
    return Error::Ok;
  }
  ov_tensor* weights = payload.weights.empty() ? nullptr : wrap_bytes(api_, payload.weights);
  ov_model* model = nullptr;
  const Status read = api_.ov_core_read_model_from_memory_buffer(core_, text, payload.xml.size(), weights, &model);
  if (weights) api_.ov_tensor_free(weights);
  if (read != 0) return failure(api_, Error::InvalidProgram, "read the model");
  const char* const* p = options.properties;
  const Status compiled =
      api_.ov_core_compile_model(core_, model, options.device, options.count, &compiled_, p[0], p[1], p[2], p[3], p[4],
                                 p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]);
  api_.ov_model_free(model);
  return compiled == 0 ? Error::Ok : failure(api_, Error::NotSupported, "compile the model");
}

Error Model::read_ports(MemoryAllocator& allocator) {
  size_t outputs = 0;
  if (api_.ov_compiled_model_inputs_size(compiled_, &inputs_) != 0 ||
      api_.ov_compiled_model_outputs_size(compiled_, &outputs) != 0 ||
      api_.ov_compiled_model_create_infer_request(compiled_, &request_) != 0) {
    return failure(api_, Error::Internal, "create an infer request");
  }
  const size_t count = inputs_ + outputs;
  Port* ports = allocator.allocate_array<Port>(count);
  RL_REQUIRE(ports || count == 0, MemoryAllocationFailed, "no memory for %zu ports of an OpenVINO model", count);
  for (size_t i = 0; i < count; ++i) new (&ports[i]) Port();
  ports_ = {ports, count};
  for (size_t i = 0; i < count; ++i) RL_TRY(describe(i < inputs_, i < inputs_ ? i : i - inputs_, &ports_[i]));
  return Error::Ok;
}

Error Model::describe(bool is_input, size_t index, Port* port) {
  ov_output_const_port* found = nullptr;
  const Status status = is_input ? api_.ov_compiled_model_input_by_index(compiled_, index, &found)
                                 : api_.ov_compiled_model_output_by_index(compiled_, index, &found);
  if (status != 0) return failure(api_, Error::Internal, "return the type of a port");
  const Status typed = api_.ov_port_get_element_type(found, &port->type);
  Shape shape{};
  port->is_static = api_.ov_const_port_get_shape(found, &shape) == 0;  // fails for a dynamic shape
  if (port->is_static) api_.ov_shape_free(&shape);
  api_.ov_output_const_port_free(found);
  return typed == 0 ? Error::Ok : failure(api_, Error::Internal, "return the type of a port");
}

Error Model::execute(Span<EValue* const> arguments) {
  RL_REQUIRE(arguments.size() == ports_.size(), InvalidArgument, "the OpenVINO model has %zu ports, not %zu",
             ports_.size(), arguments.size());
  for (size_t i = 0; i < ports_.size(); ++i) {
    RL_REQUIRE(arguments[i]->tag == Tag::Tensor, InvalidType, "argument %zu of the OpenVINO model is not a tensor", i);
    const Tensor tensor = arguments[i]->to_tensor();
    RL_REQUIRE(is_contiguous_dim_order(tensor.dim_order()), NotSupported,
               "argument %zu of the OpenVINO model is not contiguous", i);
    if (i < inputs_ || ports_[i].is_static) RL_TRY(set(i, tensor));
  }
  if (api_.ov_infer_request_infer(request_) != 0) return failure(api_, Error::Internal, "run the model");
  for (size_t i = inputs_; i < ports_.size(); ++i) {
    if (!ports_[i].is_static) RL_TRY(copy_output(i, arguments[i]->to_tensor()));
  }
  return Error::Ok;
}

Error Model::set(size_t index, const Tensor& tensor) {
  Port& port = ports_[index];
  const void* data = tensor.const_data_ptr();
  int64_t sizes[kMaxDim] = {};
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), sizes);
  if (port.tensor && port.data == data && port.rank == tensor.dim() && std::equal(sizes, sizes + kMaxDim, port.sizes)) {
    return Error::Ok;
  }
  if (port.tensor) api_.ov_tensor_free(port.tensor);
  port.tensor = nullptr;
  static uint8_t placeholder[64];
  void* memory = data ? const_cast<void*>(data) : placeholder;  // an empty tensor may have no memory
  size_t bytes = 0;
  if (api_.ov_tensor_create_from_host_ptr(port.type, {tensor.dim(), sizes}, memory, &port.tensor) != 0 ||
      api_.ov_tensor_get_byte_size(port.tensor, &bytes) != 0) {
    return failure(api_, Error::Internal, "create a tensor for an argument");
  }
  RL_REQUIRE(bytes == tensor.nbytes(), InvalidType, "argument %zu of the OpenVINO model has %zu bytes, not %zu", index,
             tensor.nbytes(), bytes);
  const bool is_input = index < inputs_;
  const Status status = is_input
                            ? api_.ov_infer_request_set_input_tensor_by_index(request_, index, port.tensor)
                            : api_.ov_infer_request_set_output_tensor_by_index(request_, index - inputs_, port.tensor);
  if (status != 0)
    return failure(api_, Error::InvalidArgument, is_input ? "set an input tensor" : "set an output tensor");
  port.data = data;
  port.rank = tensor.dim();
  std::copy(sizes, sizes + kMaxDim, port.sizes);
  return Error::Ok;
}

Error Model::copy_output(size_t index, const Tensor& tensor) {
  ov_tensor* output = nullptr;
  if (api_.ov_infer_request_get_output_tensor_by_index(request_, index - inputs_, &output) != 0) {
    return failure(api_, Error::Internal, "return an output tensor");
  }
  Shape shape{};
  void* data = nullptr;
  size_t bytes = 0;
  SizesType sizes[kMaxDim] = {};
  Error error = Error::Ok;
  if (api_.ov_tensor_get_shape(output, &shape) != 0 || api_.ov_tensor_get_byte_size(output, &bytes) != 0 ||
      api_.ov_tensor_data(output, &data) != 0 || shape.rank != tensor.dim()) {
    error = failure(api_, Error::Internal, "return an output tensor");
  } else {
    std::copy(shape.dims, shape.dims + shape.rank, sizes);
    error = resize_tensor(tensor, {sizes, static_cast<size_t>(shape.rank)});
    if (error == Error::Ok && tensor.nbytes() != bytes) {
      error = fail(Error::InvalidType, "output %zu of the OpenVINO model has %zu bytes, not %zu", index - inputs_,
                   bytes, tensor.nbytes());
    }
    if (error == Error::Ok && bytes > 0) std::memcpy(tensor.mutable_data_ptr(), data, bytes);
  }
  if (shape.dims) api_.ov_shape_free(&shape);
  api_.ov_tensor_free(output);
  return error;
}

}  // namespace rushlight::openvino
