#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/error.h"
#include "rushlight/core/result.h"

// The functions of OpenVINO's C API that the backend uses. The structs are opaque.
struct ov_core;
struct ov_model;
struct ov_compiled_model;
struct ov_infer_request;
struct ov_tensor;
struct ov_output_const_port;

namespace rushlight::openvino {

struct Shape {
  int64_t rank;
  int64_t* dims;
};

using Status = int;       // 0: success
using ElementType = int;  // values differ between releases: they are read from ports and never written as constants

// Calls the macro X(result type, name, arguments) for each function.
#define RL_OPENVINO_FUNCTIONS(X)                                                                              \
  X(const char*, ov_get_last_err_msg, ())                                                                     \
  X(Status, ov_core_create, (ov_core**))                                                                      \
  X(void, ov_core_free, (ov_core*))                                                                           \
  X(Status, ov_core_read_model_from_memory_buffer,                                                            \
    (const ov_core*, const char* xml, size_t size, const ov_tensor* weights, ov_model**))                     \
  X(Status, ov_core_compile_model,                                                                            \
    (const ov_core*, const ov_model*, const char* device, size_t property_strings, ov_compiled_model**, ...)) \
  X(Status, ov_core_import_model,                                                                             \
    (const ov_core*, const char* content, size_t size, const char* device, ov_compiled_model**))              \
  X(void, ov_model_free, (ov_model*))                                                                         \
  X(Status, ov_compiled_model_inputs_size, (const ov_compiled_model*, size_t*))                               \
  X(Status, ov_compiled_model_outputs_size, (const ov_compiled_model*, size_t*))                              \
  X(Status, ov_compiled_model_input_by_index, (const ov_compiled_model*, size_t, ov_output_const_port**))     \
  X(Status, ov_compiled_model_output_by_index, (const ov_compiled_model*, size_t, ov_output_const_port**))    \
  X(Status, ov_compiled_model_create_infer_request, (const ov_compiled_model*, ov_infer_request**))           \
  X(void, ov_compiled_model_free, (ov_compiled_model*))                                                       \
  X(Status, ov_port_get_element_type, (const ov_output_const_port*, ElementType*))                            \
  X(Status, ov_const_port_get_shape, (const ov_output_const_port*, Shape*))                                   \
  X(void, ov_output_const_port_free, (ov_output_const_port*))                                                 \
  X(Status, ov_infer_request_set_input_tensor_by_index, (ov_infer_request*, size_t, const ov_tensor*))        \
  X(Status, ov_infer_request_set_output_tensor_by_index, (ov_infer_request*, size_t, const ov_tensor*))       \
  X(Status, ov_infer_request_get_output_tensor_by_index, (const ov_infer_request*, size_t, ov_tensor**))      \
  X(Status, ov_infer_request_infer, (ov_infer_request*))                                                      \
  X(void, ov_infer_request_free, (ov_infer_request*))                                                         \
  X(Status, ov_tensor_create_from_host_ptr, (ElementType, Shape, void*, ov_tensor**))                         \
  X(Status, ov_tensor_get_shape, (const ov_tensor*, Shape*))                                                  \
  X(Status, ov_tensor_get_byte_size, (const ov_tensor*, size_t*))                                             \
  X(Status, ov_tensor_data, (const ov_tensor*, void**))                                                       \
  X(void, ov_tensor_free, (ov_tensor*))                                                                       \
  X(Status, ov_shape_free, (Shape*))

struct Api {
#define RL_OPENVINO_MEMBER(result, name, arguments) result(*name) arguments;
  RL_OPENVINO_FUNCTIONS(RL_OPENVINO_MEMBER)
#undef RL_OPENVINO_MEMBER
};

// Loads OpenVINO's library, if it is not loaded yet, and returns its functions. Returns NotFound, with the searched
// paths in the message, if there is no library; the next call searches again.
Result<const Api*> load_api();

// Returns an error with OpenVINO's own message. `what` is the action that failed, such as "compile the model".
Error failure(const Api& api, Error code, const char* what);

}  // namespace rushlight::openvino
