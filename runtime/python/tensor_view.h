#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "rushlight/core/tensor.h"

namespace rushlight::python {

namespace nb = nanobind;

// Where a Python array's elements are.
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

// Finds an order of dimensions (outermost first) in which the view is densely packed: contiguous if it is one, else
// channels-last if it is one, else by falling stride. False if there is none.
bool dense_dim_order(const TensorView& view, DimOrderType* order);
// Whether the elements are packed in just this order.
bool is_dense_in(const TensorView& view, const DimOrderType* order);
// Copies the elements to `target`, packed in `order`.
void pack(const TensorView& view, const DimOrderType* order, void* target);

// Thrown for an array that cannot be viewed as a tensor.
struct NoTensor {
  std::string reason;  // "not Tensor (why)"
};

// A view of a Python array's elements, borrowed by the fast exchange interface of its type, the buffer protocol or
// DLPack. The array must outlive this.
class BorrowedTensor {
 public:
  BorrowedTensor() = default;
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;
  ~BorrowedTensor() { release(); }

  // False if the object is no array; throws NoTensor if it is one that cannot be viewed here.
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

// The table of a type's fast exchange interface (an attribute `__dlpack_c_exchange_api__`), or null. Such types are
// torch.Tensor and its subclasses.
struct ExchangeApi;
const ExchangeApi* exchange_api(PyTypeObject* type);

}  // namespace rushlight::python
