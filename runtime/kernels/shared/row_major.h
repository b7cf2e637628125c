#pragma once

#include <cstddef>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// The elements of a tensor in row-major order: the tensor's memory, or a copy in scratch memory if its dim order is
// different. If there is no scratch memory, the failure is recorded and data() is null.
class RowMajorInput {
 public:
  RowMajorInput(KernelRuntimeContext& context, const Tensor& tensor);
  const void* data() const { return data_; }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }

 private:
  const void* data_;
};

// Memory for the elements of a tensor in row-major order. finish() copies the elements to the tensor.
class RowMajorOutput {
 public:
  RowMajorOutput(KernelRuntimeContext& context, const Tensor& tensor);
  void* data() { return data_; }
  template <typename T>
  T* data() {
    return static_cast<T*>(data_);
  }
  void finish();

 private:
  KernelRuntimeContext& context_;
  Tensor tensor_;
  void* data_;
};

}  // namespace rushlight
