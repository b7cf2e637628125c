#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "rushlight/core/tensor.h"

namespace rushlight::python {

namespace nb = nanobind;

// The memory and shape of a Python array.
struct TensorView {
  void* data = nullptr;
  ScalarType dtype = ScalarType::Float;
  uint8_t dim = 0;
  bool read_only = false;
  SizesType sizes[kMaxDim];
  int64_t strides[kMaxDim];  // elements

  int64_t numel() const;
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(dtype); }
  Span<const SizesType> shape() const { return {sizes, dim}; }
};

// Finds a dim order (outermost first) in which the view is dense: contiguous if possible, else channels-last, else by
// decreasing stride. Returns false if there is no such order.
bool dense_dim_order(const TensorView& view, DimOrderType* order);
// Returns whether the elements are dense in exactly the order `order`.
bool is_dense_in(const TensorView& view, const DimOrderType* order);
// Copies the elements to `target`, dense in `order`.
void pack(const TensorView& view, const DimOrderType* order, void* target);

// The exception for an array that cannot be viewed as a tensor.
struct NoTensor {
  std::string reason;  // "not Tensor (why)"
};

// A view of a Python array's elements, through the fast exchange interface of its type, the buffer protocol or DLPack.
// The array must outlive the view.
class BorrowedTensor {
 public:
  BorrowedTensor() = default;
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;
  ~BorrowedTensor() { release(); }

  // Returns false if the object is not an array. Throws NoTensor if it is an array that cannot be viewed.
  bool borrow(nb::handle object);
  void release();
  TensorView view;

 private:
  bool borrow_buffer(nb::handle object);
  bool borrow_dlpack(nb::handle object);
  Py_buffer buffer_{};
  bool has_buffer_ = false;
  nb::object owner_;
};

// Returns the table of a type's fast exchange interface (the attribute `__dlpack_c_exchange_api__`), or null.
// torch.Tensor and its subclasses have it.
struct ExchangeApi;
const ExchangeApi* exchange_api(PyTypeObject* type);

}  // namespace rushlight::python
