#pragma once

#include <cstdint>

#include "rushlight/core/scalar_type.h"

// The binary interface of DLPack 1.x, as defined in its specification.
namespace rushlight::python {

struct DlDevice {
  int32_t type;
  int32_t id;
};
inline constexpr int32_t kDlCpu = 1;

struct DlDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;  // elements; null if packed
  uint64_t byte_offset;
};

struct DlVersion {
  uint32_t major;
  uint32_t minor;
};

struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor*);
};

struct DlManagedTensorVersioned {
  DlVersion version;
  void* context;
  void (*deleter)(DlManagedTensorVersioned*);
  uint64_t flags;
  DlTensor tensor;
};
inline constexpr uint64_t kDlReadOnly = 1;

// The contents of a capsule `__dlpack_c_exchange_api__` with the name "dlpack_exchange_api".
struct ExchangeApi {
  DlVersion version;
  const ExchangeApi* previous;
  int (*allocate)(DlTensor* prototype, DlManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*from_object)(void* object, DlManagedTensorVersioned** out);
  int (*to_object)(DlManagedTensorVersioned* tensor, void** out);  // takes ownership of the tensor
  int (*view_of_object)(void* object, DlTensor* out);              // may be null
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

// Returns false if the runtime has no such dtype.
bool scalar_type_of_dl(DlDataType type, ScalarType* out);
DlDataType dl_type_of(ScalarType type);

}  // namespace rushlight::python
