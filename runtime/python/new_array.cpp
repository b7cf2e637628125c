#include "python/new_array.h"

#include <nanobind/ndarray.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "python/errors.h"
#include "python/tensor_view.h"

namespace rushlight::python {

namespace {

// The numpy module, which is imported at its first use and never released.
struct Numpy {
  nb::object empty;
  nb::object dtypes[kScalarTypeCount];  // each is invalid until its first use
};

Numpy& numpy() {
  static auto& instance = *new Numpy{nb::module_::import_("numpy").attr("empty"), {}};
  return instance;
}

nb::handle numpy_dtype(ScalarType dtype) {
  nb::object& known = numpy().dtypes[static_cast<int>(dtype)];
  if (known.is_valid()) return known;
  const char* name = dtype_name(dtype);
  try {
    known = nb::module_::import_("numpy").attr("dtype")(name);
  } catch (nb::python_error&) {
    // The package ml_dtypes provides the bfloat16 and float8 dtypes.
    try {
      known = nb::module_::import_("numpy").attr("dtype")(nb::module_::import_("ml_dtypes").attr(name));
    } catch (nb::python_error&) {
      raise(Error::NotSupported,
            std::string("numpy has no dtype ") + name + ": install ml_dtypes, or use torch tensors");
    }
  }
  return known;
}

nb::object tuple_of(Span<const SizesType> sizes, const DimOrderType* order) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
  if (!tuple.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyObject* size = PyLong_FromLong(sizes[order ? order[i] : i]);
    if (!size) throw nb::python_error();
    NB_TUPLE_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), size);
  }
  return tuple;
}

// Transposes an array whose axes are in the memory order `order`. Returns a view whose axes are in the tensor's order.
nb::object in_axis_order(const nb::object& array, const DimOrderType* order, size_t dim) {
  DimOrderType axis_of[kMaxDim];
  SizesType axes[kMaxDim];
  for (size_t i = 0; i < dim; ++i) axis_of[order[i]] = static_cast<DimOrderType>(i);
  for (size_t i = 0; i < dim; ++i) axes[i] = axis_of[i];
  return array.attr("transpose")(tuple_of({axes, dim}, nullptr));
}

NewArray new_numpy_array(ScalarType dtype, Span<const SizesType> sizes, const DimOrderType* order) {
  const bool plain = is_contiguous_dim_order({order, sizes.size()});
  const nb::object shape = tuple_of(sizes, plain ? nullptr : order);
  PyObject* arguments[] = {shape.ptr(), numpy_dtype(dtype).ptr()};
  NewArray array{nb::steal(PyObject_Vectorcall(numpy().empty.ptr(), arguments, 2, nullptr)), nullptr};
  if (!array.object.is_valid()) throw nb::python_error();
  BorrowedTensor elements;
  elements.borrow(array.object);
  array.data = elements.view.data;
  if (!plain) array.object = in_axis_order(array.object, order, sizes.size());
  return array;
}

// Makes a numpy array over memory of `owner`: an array of bytes, which is then viewed as elements of the dtype.
nb::object numpy_view(ScalarType dtype, Span<const SizesType> sizes, const DimOrderType* order, void* data,
                      nb::handle owner) {
  const bool plain = is_contiguous_dim_order({order, sizes.size()});
  const size_t bytes = static_cast<size_t>(checked_numel(sizes)) * element_size(dtype);
  nb::object array = nb::cast(nb::ndarray<nb::numpy, uint8_t>(data, {bytes}, owner));
  array = array.attr("view")(numpy_dtype(dtype)).attr("reshape")(tuple_of(sizes, plain ? nullptr : order));
  return plain ? array : in_axis_order(array, order, sizes.size());
}

constexpr size_t kAlignment = 64;

// A DLPack tensor, its shape and its elements in one block of memory.
struct Block {
  DlManagedTensorVersioned managed;
  int64_t shape[kMaxDim];
  int64_t strides[kMaxDim];
};
constexpr size_t kHeader = (sizeof(Block) + kAlignment - 1) / kAlignment * kAlignment;

void describe(Block& block, ScalarType dtype, Span<const SizesType> sizes, const DimOrderType* order, void* data) {
  StridesType strides[kMaxDim];
  strides_from_dim_order(sizes, order, strides);
  for (size_t i = 0; i < sizes.size(); ++i) {
    block.shape[i] = sizes[i];
    block.strides[i] = strides[i];
  }
  DlManagedTensorVersioned& managed = block.managed;
  managed.version = {1, 0};
  managed.context = nullptr;
  managed.flags = 0;
  managed.tensor = {data,          {kDlCpu, 0},      static_cast<int32_t>(sizes.size()), dl_type_of(dtype), block.shape,
                    block.strides, /*byte_offset=*/0};
}

// Makes an array of the library from a block that describe() has filled. Frees the block if this fails.
nb::object exchanged(const ExchangeApi* api, Block& block) {
  void* object = nullptr;
  if (api->to_object(&block.managed, &object) != 0) {
    block.managed.deleter(&block.managed);
    throw nb::python_error();
  }
  return nb::steal(static_cast<PyObject*>(object));
}

NewArray new_exchanged_array(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                             const DimOrderType* order) {
  const int64_t count = checked_numel(sizes);
  const size_t bytes = static_cast<size_t>(count) * element_size(dtype);
  void* memory = std::aligned_alloc(kAlignment, kHeader + (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (!memory) raise(Error::MemoryAllocationFailed, "no memory for an output of " + std::to_string(bytes) + " bytes");
  auto* block = new (memory) Block;
  void* data = static_cast<char*>(memory) + kHeader;
  describe(*block, dtype, sizes, order, data);
  block->managed.deleter = [](DlManagedTensorVersioned* self) { std::free(self); };
  return {exchanged(api, *block), data};
}

nb::object exchanged_view(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                          const DimOrderType* order, void* data, nb::handle owner) {
  auto* block = new Block;
  describe(*block, dtype, sizes, order, data);
  block->managed.context = owner.inc_ref().ptr();
  block->managed.deleter = [](DlManagedTensorVersioned* self) {
    if (Py_IsInitialized()) {
      const nb::gil_scoped_acquire acquire;
      Py_DECREF(static_cast<PyObject*>(self->context));
    }
    delete reinterpret_cast<Block*>(self);
  };
  return exchanged(api, *block);
}

}  // namespace

NewArray new_array(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                   const DimOrderType* dim_order) {
  return api ? new_exchanged_array(api, dtype, sizes, dim_order) : new_numpy_array(dtype, sizes, dim_order);
}

nb::object view_array(const ExchangeApi* api, ScalarType dtype, Span<const SizesType> sizes,
                      const DimOrderType* dim_order, void* data, nb::handle owner) {
  return api ? exchanged_view(api, dtype, sizes, dim_order, data, owner)
             : numpy_view(dtype, sizes, dim_order, data, owner);
}

const ExchangeApi* loaded_torch() {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* torch = modules ? PyDict_GetItemString(modules, "torch") : nullptr;
  if (!torch) return nullptr;
  const nb::object tensor = nb::getattr(nb::handle(torch), "Tensor", nb::none());
  return PyType_Check(tensor.ptr()) ? exchange_api(reinterpret_cast<PyTypeObject*>(tensor.ptr())) : nullptr;
}

namespace {

nb::object array_of(const Tensor& tensor, const ExchangeApi* api) {
  const TensorImpl& impl = *tensor.impl();
  NewArray array = new_array(api, impl.dtype, tensor.sizes(), impl.dim_order);
  if (tensor.nbytes() != 0) std::memcpy(array.data, impl.data, tensor.nbytes());
  return std::move(array.object);
}

template <typename Items, typename Convert>
nb::object list_of(const Items& items, const Convert& convert) {
  nb::list list;
  for (const auto& item : items) list.append(convert(item));
  return list;
}

}  // namespace

nb::object to_python(const EValue& value, const ExchangeApi* api) {
  switch (value.tag) {
    case Tag::None:
      return nb::none();
    case Tag::Tensor:
      return array_of(value.to_tensor(), api);
    case Tag::Int:
      return nb::int_(value.to_int());
    case Tag::Double:
      return nb::float_(value.to_double());
    case Tag::Bool:
      return nb::bool_(value.to_bool());
    case Tag::String:
      return to_str(value.to_string_view());
    case Tag::ListInt:
      return list_of(value.to_int_list(), [](int64_t item) { return nb::int_(item); });
    case Tag::ListDouble:
      return list_of(value.to_double_list(), [](double item) { return nb::float_(item); });
    case Tag::ListBool:
      return list_of(value.to_bool_list(), [](bool item) { return nb::bool_(item); });
    case Tag::ListTensor:
      return list_of(value.to_tensor_list(), [api](const Tensor& item) { return array_of(item, api); });
    case Tag::ListOptionalTensor:
      return list_of(value.to_optional_tensor_list(), [api](const std::optional<Tensor>& item) {
        return item ? array_of(*item, api) : nb::object(nb::none());
      });
    case Tag::ListScalar:  // no program contains it
      break;
  }
  return nb::none();
}

}  // namespace rushlight::python
