#include "python/tensor_view.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "python/dlpack.h"
#include "python/errors.h"

namespace rushlight::python {

int64_t TensorView::numel() const {
  int64_t count = 1;
  for (int i = 0; i < dim; ++i) count *= sizes[i];
  return count;
}

bool is_dense_in(const TensorView& view, const DimOrderType* order) {
  int64_t stride = 1;
  for (int i = view.dim - 1; i >= 0; --i) {
    const int axis = order[i];
    if (view.sizes[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.sizes[axis];
  }
  return true;
}

bool dense_dim_order(const TensorView& view, DimOrderType* order) {
  const int dim = view.dim;
  for (int i = 0; i < dim; ++i) order[i] = static_cast<DimOrderType>(i);
  if (is_dense_in(view, order) || view.numel() == 0) return true;
  if (dim == 4 || dim == 5) {
    for (int i = 1; i < dim - 1; ++i) order[i] = static_cast<DimOrderType>(i + 1);
    order[dim - 1] = 1;
    if (is_dense_in(view, order)) return true;
    for (int i = 0; i < dim; ++i) order[i] = static_cast<DimOrderType>(i);
  }
  std::stable_sort(order, order + dim, [&](int a, int b) { return view.strides[a] > view.strides[b]; });
  return is_dense_in(view, order);
}

namespace {

// Copies one element; its address may be unaligned.
template <size_t kSize>
void pack_elements(const TensorView& view, const DimOrderType* order, uint8_t* target) {
  const int dim = view.dim;
  const int64_t count = view.numel();
  if (count == 0) return;
  const auto* source = static_cast<const uint8_t*>(view.data);
  if (dim == 0) {
    std::memcpy(target, source, kSize);
    return;
  }
  int64_t index[kMaxDim] = {};
  const int inner = order[dim - 1];
  const int64_t size = kSize;
  const int64_t length = view.sizes[inner], step = view.strides[inner] * size;
  for (int64_t done = 0; done < count; done += length) {
    for (int64_t i = 0; i < length; ++i) std::memcpy(target + i * size, source + i * step, kSize);
    target += length * size;
    for (int i = dim - 2; i >= 0; --i) {
      const int axis = order[i];
      source += view.strides[axis] * size;
      if (++index[axis] < view.sizes[axis]) break;
      source -= view.strides[axis] * view.sizes[axis] * size;
      index[axis] = 0;
    }
  }
}

// Returns the dtype of a buffer format in native or little-endian byte order.
bool scalar_type_of_format(const char* format, size_t size, ScalarType* out) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<' || *format == '|') ++format;
  const bool complex = *format == 'Z';
  if (complex) ++format;
  if (format[0] == '\0' || format[1] != '\0') return false;
  DlDataType type{0, static_cast<uint8_t>(8 * size), 1};
  switch (*format) {
    case '?':
      type.code = 6;
      break;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      type.code = 0;
      break;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      type.code = 1;
      break;
    case 'e':
    case 'f':
    case 'd':
      type.code = complex ? 5 : 2;
      break;
    case 'F':
    case 'D':
      type.code = 5;
      break;
    default:
      return false;
  }
  return scalar_type_of_dl(type, out);
}

[[noreturn]] void refuse(nb::handle object, const std::string& reason) {
  throw NoTensor{"not " + type_name_of(object) + " (" + reason + ")"};
}

[[noreturn]] void refuse_dtype(nb::handle object) {
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  refuse(object, "the runtime does not support its dtype" + (dtype.is_none() ? "" : ' ' + text_of(dtype)));
}

void fill(TensorView& view, const DlTensor& tensor, nb::handle object) {
  if (tensor.device.type != kDlCpu) refuse(object, "it is not in CPU memory");
  if (tensor.ndim > kMaxDim) refuse(object, "it has more than 16 dimensions");
  if (!scalar_type_of_dl(tensor.dtype, &view.dtype)) refuse_dtype(object);
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view.dim = static_cast<uint8_t>(tensor.ndim);
  int64_t stride = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] > INT32_MAX) refuse(object, "a dimension is longer than 2^31 - 1");
    view.sizes[i] = static_cast<SizesType>(tensor.shape[i]);
    view.strides[i] = tensor.strides ? tensor.strides[i] : stride;
    stride *= tensor.shape[i];
  }
  if (!tensor.data && view.numel() != 0) refuse(object, "it has no data");
}

// Returns whether a tensor of torch may be a lazy conjugate, or the lazy negative that is its imaginary part. The
// strides of imaginary parts are even.
bool may_be_lazy(const TensorView& view) {
  if (!is_floating(view.dtype)) return is_complex(view.dtype);
  for (int i = 0; i < view.dim; ++i) {
    if (view.sizes[i] > 1 && view.strides[i] % 2 != 0) return false;
  }
  return true;
}

}  // namespace

void pack(const TensorView& view, const DimOrderType* order, void* target) {
  if (is_dense_in(view, order)) {
    if (view.numel() != 0) std::memcpy(target, view.data, view.nbytes());
    return;
  }
  auto* bytes = static_cast<uint8_t*>(target);
  switch (element_size(view.dtype)) {
    case 1:
      return pack_elements<1>(view, order, bytes);
    case 2:
      return pack_elements<2>(view, order, bytes);
    case 4:
      return pack_elements<4>(view, order, bytes);
    case 8:
      return pack_elements<8>(view, order, bytes);
    default:
      return pack_elements<16>(view, order, bytes);
  }
}

const ExchangeApi* exchange_api(PyTypeObject* type) {
  // The map and its types are never freed.
  static auto& known = *new std::unordered_map<PyTypeObject*, const ExchangeApi*>();
  static PyTypeObject* last_type = nullptr;
  static const ExchangeApi* last_api = nullptr;
  if (type == last_type) return last_api;
  auto found = known.find(type);
  if (found == known.end()) {
    const ExchangeApi* api = nullptr;
    const nb::object capsule = nb::getattr(nb::handle(type), "__dlpack_c_exchange_api__", nb::none());
    if (PyCapsule_CheckExact(capsule.ptr())) {
      api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
      if (!api) PyErr_Clear();
      while (api && api->version.major != 1) api = api->previous;
      if (api && !api->view_of_object) api = nullptr;
    }
    nb::handle(type).inc_ref();
    found = known.emplace(type, api).first;
  }
  last_type = type;
  last_api = found->second;
  return last_api;
}

void BorrowedTensor::release() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  has_buffer_ = false;
  if (owner_.is_valid()) owner_.reset();
}

bool BorrowedTensor::borrow(nb::handle object) {
  release();
  view.read_only = false;
  if (const ExchangeApi* api = exchange_api(Py_TYPE(object.ptr()))) {
    DlTensor tensor{};
    if (api->view_of_object(object.ptr(), &tensor) != 0) {
      const nb::python_error error;
      const std::string device = text_of(nb::getattr(object, "device", nb::none()));
      if (device.compare(0, 3, "cpu") != 0) {
        refuse(object, "it is on device " + device + ", and only tensors of the CPU can be passed to a method");
      }
      const std::string reason = text_of(error.value());
      refuse(object, reason.substr(0, reason.find('\n')));
    }
    fill(view, tensor, object);
    if (may_be_lazy(view) && nb::hasattr(object, "is_conj")) {
      const char* const test = is_complex(view.dtype) ? "is_conj" : "is_neg";
      if (nb::cast<bool>(object.attr(test)())) {
        const nb::object computed = object.attr("resolve_conj")().attr("resolve_neg")();
        borrow(computed);
        view.read_only = true;  // a write would not reach the object
        owner_ = computed;
      }
    }
    return true;
  }
  if (PyObject_CheckBuffer(object.ptr())) return borrow_buffer(object);
  if (nb::hasattr(object, "__dlpack__")) return borrow_dlpack(object);
  return false;
}

bool BorrowedTensor::borrow_buffer(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_FULL_RO) != 0) {
    // Dtypes that numpy does not have (bfloat16, float8) have no buffer format, so the array is viewed as integers.
    PyErr_Clear();
    const nb::object dtype = nb::getattr(object, "dtype", nb::none());
    const std::string name = text_of(nb::getattr(dtype, "name", nb::none()));
    for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Float8_e4m3fn, ScalarType::Float8_e5m2,
                                  ScalarType::Float8_e4m3fnuz, ScalarType::Float8_e5m2fnuz}) {
      if (name != dtype_name(type)) continue;
      const nb::object integers = object.attr("view")(element_size(type) == 2 ? "uint16" : "uint8");
      borrow_buffer(integers);
      view.dtype = type;
      return true;
    }
    refuse_dtype(object);
  }
  has_buffer_ = true;
  if (buffer_.ndim > kMaxDim) refuse(object, "it has more than 16 dimensions");
  if (!scalar_type_of_format(buffer_.format, static_cast<size_t>(buffer_.itemsize), &view.dtype)) {
    refuse_dtype(object);
  }
  view.data = buffer_.buf;
  view.dim = static_cast<uint8_t>(buffer_.ndim);
  view.read_only = buffer_.readonly;
  for (int i = 0; i < buffer_.ndim; ++i) {
    if (buffer_.shape[i] > INT32_MAX) refuse(object, "a dimension is longer than 2^31 - 1");
    if (buffer_.strides[i] % buffer_.itemsize != 0) refuse(object, "its strides are not multiples of its element size");
    view.sizes[i] = static_cast<SizesType>(buffer_.shape[i]);
    view.strides[i] = buffer_.strides[i] / buffer_.itemsize;
  }
  return true;
}

bool BorrowedTensor::borrow_dlpack(nb::handle object) {
  nb::object capsule = object.attr("__dlpack__")();
  const auto* managed = static_cast<const DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed) throw nb::python_error();
  fill(view, managed->tensor, object);
  owner_ = std::move(capsule);  // the destructor of an unused capsule frees its tensor
  return true;
}

}  // namespace rushlight::python
