#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/cpu_features.h"
#include "core/kernel_rows.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/tensor_view.h"
#include "rushlight/core/kernel.h"
#include "rushlight/module/defaults.h"
#include "rushlight/module/growing_allocator.h"
#include "rushlight/module/library.h"
#include "rushlight/threads/thread_pool.h"
#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
#include "rushlight/kernels/optimized.h"
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_PORTABLE)
#include "rushlight/kernels/portable.h"
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_QUANTIZED)
#include "rushlight/kernels/quantized.h"
#endif

namespace rushlight::python {

namespace {

std::vector<KernelTable> tables_of(const std::optional<std::string>& library) {
  if (!library) return available_kernels();
  std::vector<KernelTable> tables;
#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
  if (*library == "optimized") tables.push_back(optimized_kernels());
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_QUANTIZED)
  if (*library == "quantized") tables.push_back(quantized_kernels());
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_PORTABLE)
  if (*library == "portable") tables.push_back(portable_kernels());
#endif
  for (const LoadedLibrary* loaded : loaded_libraries()) {
    if (*library == loaded->name) tables.push_back(loaded->kernels());
  }
  if (tables.empty()) raise(Error::InvalidArgument, "there is no kernel library '" + *library + "'");
  return tables;
}

// Returns the first row of each operator in the libraries, ordered by name.
std::vector<const Kernel*> rows_of(const std::optional<std::string>& library) {
  std::vector<const Kernel*> rows;
  const std::vector<KernelTable> tables = tables_of(library);
  const Span<const KernelTable> searched(tables.data(), tables.size());
  for (const KernelTable& table : tables) {
    for (const Kernel& row : table) {
      if (find_kernel(searched, row.name) == &row) rows.push_back(&row);
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const Kernel* a, const Kernel* b) { return std::string_view(a->name) < std::string_view(b->name); });
  return rows;
}

std::vector<std::string> kernel_names(const std::optional<std::string>& library) {
  std::vector<std::string> names;
  for (const Kernel* row : rows_of(library)) names.emplace_back(row->name);
  return names;
}

std::vector<std::string> names_of(DtypeSet dtypes) {
  std::vector<std::string> names;
  for (int i = 0; i < kScalarTypeCount; ++i) {
    if (dtypes.contains(static_cast<ScalarType>(i))) names.emplace_back(dtype_name(static_cast<ScalarType>(i)));
  }
  return names;
}

// Indices of arguments, and the dtypes of their tensors. An empty list of indices means all other arguments.
using DtypesOfArguments = std::pair<std::vector<int>, std::vector<std::string>>;

std::vector<DtypesOfArguments> dtypes_of(const Kernel& row) {
  std::vector<DtypesOfArguments> dtypes{{{}, names_of(row.dtypes)}};
  for (const ArgumentDtypes& other : row.others) {
    std::vector<int> arguments;
    for (int i = 0; i < 32; ++i) {
      if (((other.arguments >> i) & 1u) != 0) arguments.push_back(i);
    }
    if (!arguments.empty()) dtypes.emplace_back(std::move(arguments), names_of(other.dtypes));
  }
  return dtypes;
}

// Returns the rows of each operator, without rows whose dtypes another row supports too. One row must support all
// tensors of a call.
std::vector<std::pair<std::string, std::vector<DtypesOfArguments>>> kernel_table(
    const std::optional<std::string>& library) {
  std::vector<std::pair<std::string, std::vector<DtypesOfArguments>>> table;
  const std::vector<KernelTable> tables = tables_of(library);
  for (const Kernel* first : rows_of(library)) {
    std::vector<const Kernel*> rows;
    for (const KernelTable& one : tables) {
      const Kernel* row = find_kernel(Span<const KernelTable>(&one, 1), first->name);
      const auto is_covered = [&](const Kernel* other) { return covers(*other, *row); };
      if (!row || !have_same_kinds(row->boxed, first->boxed)) continue;
      if (std::any_of(rows.begin(), rows.end(), is_covered)) continue;
      rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const Kernel* other) { return covers(*row, *other); }),
                 rows.end());
      rows.push_back(row);
    }
    for (const Kernel* row : rows) table.emplace_back(row->name, dtypes_of(*row));
  }
  return table;
}

bool is_list(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

// Converts Python values to the values of a kernel call, and owns them.
class Arguments {
 public:
  EValue* convert(nb::handle object, ArgKind kind, size_t index) {
    index_ = index;
    switch (kind) {
      case ArgKind::OptionalTensor:
      case ArgKind::OptionalScalar:
      case ArgKind::OptionalInt:
      case ArgKind::OptionalDouble:
      case ArgKind::OptionalBool:
      case ArgKind::OptionalIntList:
      case ArgKind::OptionalDoubleList:
      case ArgKind::OptionalString:
      case ArgKind::OptionalScalarType:
        if (object.is_none()) return &values_.emplace_back();
        break;
      default:
        break;
    }
    switch (kind) {
      case ArgKind::OutTensor:
        return tensor(object, true);
      case ArgKind::Tensor:
      case ArgKind::OptionalTensor:
        return tensor(object);
      case ArgKind::TensorList:
      case ArgKind::OutTensorList:
        return tensor_list(object);
      case ArgKind::OptionalTensorList:
        return optional_tensor_list(object);
      case ArgKind::Scalar:
      case ArgKind::OptionalScalar:
        return scalar(object);
      case ArgKind::Int:
      case ArgKind::OptionalInt:
      case ArgKind::ScalarType:
      case ArgKind::OptionalScalarType:
        return &values_.emplace_back(integer(object));
      case ArgKind::Double:
      case ArgKind::OptionalDouble:
        return &values_.emplace_back(real(object));
      case ArgKind::Bool:
      case ArgKind::OptionalBool:
        return &values_.emplace_back(boolean(object));
      case ArgKind::IntList:
      case ArgKind::OptionalIntList:
        return int_list(object);
      case ArgKind::DoubleList:
      case ArgKind::OptionalDoubleList:
        return double_list(object);
      case ArgKind::BoolList:
        return bool_list(object);
      case ArgKind::String:
      case ArgKind::OptionalString:
        return string(object);
      case ArgKind::Value:
        return any(object);
    }
    return nullptr;
  }

 private:
  struct Storage {
    BorrowedTensor borrowed;
    TensorImpl impl;
    StridesType strides[kMaxDim];
    DimOrderType dim_order[kMaxDim];
  };

  [[noreturn]] void refuse(nb::handle object, const char* wanted) {
    raise(Error::InvalidType,
          "argument " + std::to_string(index_) + " must be " + wanted + ", not " + type_name_of(object));
  }

  EValue* tensor(nb::handle object, bool is_written = false) {
    Storage& storage = tensors_.emplace_back();
    try {
      if (!storage.borrowed.borrow(object)) throw NoTensor{"not " + type_name_of(object)};
    } catch (const NoTensor& error) {
      raise(Error::InvalidType, "argument " + std::to_string(index_) + " must be a tensor, " + error.reason);
    }
    TensorView& view = storage.borrowed.view;
    if (is_written && view.read_only) {
      raise(Error::InvalidArgument, "argument " + std::to_string(index_) + " is written, but it is read-only");
    }
    if (reinterpret_cast<uintptr_t>(view.data) % element_size(view.dtype) != 0) {
      raise(Error::InvalidArgument,
            "the elements of argument " + std::to_string(index_) + " are not aligned in memory");
    }
    if (!dense_dim_order(view, storage.dim_order)) {
      raise(Error::InvalidArgument, "argument " + std::to_string(index_) + " is not densely packed in any dim order");
    }
    strides_from_dim_order(view.shape(), storage.dim_order, storage.strides);
    TensorImpl& impl = storage.impl;
    impl.data = view.data;
    impl.sizes = view.sizes;
    impl.strides = storage.strides;
    impl.dim_order = storage.dim_order;
    impl.numel = view.numel();
    impl.capacity = view.nbytes();
    impl.dtype = view.dtype;
    impl.dynamism = ShapeDynamism::DYNAMIC_UNBOUND;
    impl.dim = view.dim;
    return &values_.emplace_back(&impl);
  }

  EValue* scalar(nb::handle object) {
    if (PyBool_Check(object.ptr())) return &values_.emplace_back(object.is(nb::bool_(true)));
    if (PyFloat_Check(object.ptr())) return &values_.emplace_back(PyFloat_AsDouble(object.ptr()));
    if (PyIndex_Check(object.ptr())) return &values_.emplace_back(integer(object));
    refuse(object, "a number");
  }

  int64_t integer(nb::handle object) {
    if (PyIndex_Check(object.ptr())) {
      const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
      if (!number.is_valid()) throw nb::python_error();
      const long long value = PyLong_AsLongLong(number.ptr());
      if (value == -1 && PyErr_Occurred()) throw nb::python_error();
      return value;
    }
    const std::string text = text_of(object);
    if (text.rfind("torch.", 0) == 0) {
      const std::string name = text.substr(6);
      for (int i = 0; i < kScalarTypeCount; ++i) {
        if (name == dtype_name(static_cast<ScalarType>(i))) return i;
      }
      const char* formats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
      for (int i = 0; i < 4; ++i) {
        if (name == formats[i]) return i;
      }
      if (name == "strided") return 0;
    }
    refuse(object, "an integer");
  }

  double real(nb::handle object) {
    const double value = PyFloat_AsDouble(object.ptr());
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      refuse(object, "a float");
    }
    return value;
  }

  bool boolean(nb::handle object) {
    if (!PyBool_Check(object.ptr())) refuse(object, "a bool");
    return object.is(nb::bool_(true));
  }

  EValue* string(nb::handle object) {
    if (!PyUnicode_Check(object.ptr())) refuse(object, "a string");
    const std::string& text = texts_.emplace_back(nb::cast<std::string>(object));
    return &values_.emplace_back(&views_.emplace_back(text));
  }

  template <typename T>
  EValue* boxed_list(std::deque<BoxedList<T>>& lists, std::deque<std::vector<T>>& items, std::vector<EValue*> values,
                     T filler) {
    const std::vector<EValue*>& pointers = pointers_.emplace_back(std::move(values));
    std::vector<T>& storage = items.emplace_back(pointers.size(), filler);
    const BoxedList<T>& list =
        lists.emplace_back(BoxedList<T>{pointers.data(), storage.data(), static_cast<uint32_t>(pointers.size())});
    return &values_.emplace_back(&list);
  }

  EValue* tensor_list(nb::handle object) {
    if (!is_list(object)) refuse(object, "a list of tensors");
    std::vector<EValue*> values;
    for (nb::handle item : nb::borrow<nb::sequence>(object)) values.push_back(tensor(item));
    return boxed_list(tensor_lists_, tensor_items_, std::move(values), Tensor(nullptr));
  }

  EValue* optional_tensor_list(nb::handle object) {
    if (!is_list(object)) refuse(object, "a list of tensors or None");
    std::vector<EValue*> values;
    for (nb::handle item : nb::borrow<nb::sequence>(object)) {
      values.push_back(item.is_none() ? nullptr : tensor(item));
    }
    return boxed_list(optional_tensor_lists_, optional_tensor_items_, std::move(values), std::optional<Tensor>());
  }

  EValue* int_list(nb::handle object) {
    std::vector<EValue*> values;
    if (is_list(object)) {
      for (nb::handle item : nb::borrow<nb::sequence>(object)) values.push_back(&values_.emplace_back(integer(item)));
    } else {
      values.push_back(&values_.emplace_back(integer(object)));
    }
    return boxed_list(int_lists_, int_items_, std::move(values), int64_t{0});
  }

  EValue* double_list(nb::handle object) {
    if (!is_list(object)) refuse(object, "a list of floats");
    std::vector<double>& items = doubles_.emplace_back();
    for (nb::handle item : nb::borrow<nb::sequence>(object)) items.push_back(real(item));
    return &values_.emplace_back(&double_spans_.emplace_back(items.data(), items.size()));
  }

  EValue* bool_list(nb::handle object) {
    if (!is_list(object)) refuse(object, "a list of bools");
    std::deque<bool>& unpacked = bool_scratch_;
    unpacked.clear();
    for (nb::handle item : nb::borrow<nb::sequence>(object)) unpacked.push_back(boolean(item));
    bool* items = bools_.emplace_back(new bool[unpacked.size() + 1]).get();
    std::copy(unpacked.begin(), unpacked.end(), items);
    return &values_.emplace_back(&bool_spans_.emplace_back(items, unpacked.size()));
  }

  EValue* any(nb::handle object) {
    if (object.is_none()) return &values_.emplace_back();
    if (PyBool_Check(object.ptr()) || PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) return scalar(object);
    if (PyUnicode_Check(object.ptr())) return string(object);
    if (!is_list(object)) return tensor(object);
    bool ints = true, tensors = true, bools = true;
    for (nb::handle item : nb::borrow<nb::sequence>(object)) {
      bools = bools && PyBool_Check(item.ptr());
      ints = ints && PyLong_Check(item.ptr());
      tensors = tensors && !PyLong_Check(item.ptr()) && !PyFloat_Check(item.ptr());
    }
    if (bools && nb::len(object) > 0) return bool_list(object);
    return ints ? int_list(object) : tensors ? optional_tensor_list(object) : double_list(object);
  }

  size_t index_ = 0;
  std::deque<EValue> values_;
  std::deque<Storage> tensors_;
  std::deque<std::string> texts_;
  std::deque<std::string_view> views_;
  std::deque<std::vector<EValue*>> pointers_;
  std::deque<BoxedList<int64_t>> int_lists_;
  std::deque<std::vector<int64_t>> int_items_;
  std::deque<BoxedList<Tensor>> tensor_lists_;
  std::deque<std::vector<Tensor>> tensor_items_;
  std::deque<BoxedList<std::optional<Tensor>>> optional_tensor_lists_;
  std::deque<std::vector<std::optional<Tensor>>> optional_tensor_items_;
  std::deque<std::vector<double>> doubles_;
  std::deque<Span<const double>> double_spans_;
  std::deque<bool> bool_scratch_;
  std::deque<std::unique_ptr<bool[]>> bools_;
  std::deque<Span<const bool>> bool_spans_;
};

nb::tuple shape_of(const Tensor& tensor) {
  nb::list sizes;
  for (const SizesType size : tensor.sizes()) sizes.append(size);
  return nb::tuple(sizes);
}

nb::object number_of(const EValue& value) {
  if (value.tag == Tag::Double) return nb::float_(value.to_double());
  if (value.tag == Tag::Bool) return nb::bool_(value.to_bool());
  return nb::int_(value.to_int());
}

// Returns the shapes of the written tensors, and the numbers in arguments of any type (EValue&).
nb::list out_shapes(const BoxedKernel& boxed, const std::vector<EValue*>& arguments) {
  nb::list shapes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (boxed.kinds[i] == ArgKind::Value && arguments[i]->is_scalar()) shapes.append(number_of(*arguments[i]));
    if (boxed.kinds[i] == ArgKind::OutTensor) shapes.append(shape_of(arguments[i]->to_tensor()));
    if (boxed.kinds[i] == ArgKind::OutTensorList) {
      nb::list several;
      for (const Tensor& tensor : arguments[i]->to_tensor_list()) several.append(shape_of(tensor));
      shapes.append(several);
    }
  }
  return shapes;
}

nb::list call_kernel(const std::string& name, nb::sequence args, const std::optional<std::string>& library,
                     size_t threads) {
  const std::vector<KernelTable> tables = tables_of(library);
  const Kernel* kernel = find_kernel(Span<const KernelTable>(tables.data(), tables.size()), name);
  if (!kernel) raise(Error::OperatorMissing, "no kernel " + name + (library ? " in library " + *library : ""));
  const size_t given = nb::len(args);
  if (given != kernel->boxed.arity) {
    raise(Error::InvalidArgument, name + " takes " + std::to_string(kernel->boxed.arity) +
                                      " arguments (including outs), not " + std::to_string(given));
  }
  Arguments arguments;
  std::vector<EValue*> values;
  for (size_t i = 0; i < given; ++i) {
    values.push_back(arguments.convert(nb::object(args[i]), kernel->boxed.kinds[i], i));
  }
  const DtypeMismatch mismatch = find_dtype_mismatch(*kernel, values.data());
  if (mismatch.found) {
    raise(Error::NotSupported, name + " does not support " + dtype_name(mismatch.dtype) + " as argument " +
                                   std::to_string(mismatch.argument));
  }
  GrowingAllocator scratch;
  std::optional<HostThreadPool> pool;
  if (threads > 1) pool.emplace(threads);
  KernelRuntimeContext context(&scratch, pool ? &*pool : nullptr);
  clear_last_error_message();
  {
    nb::gil_scoped_release release;
    clear_upper_registers();
    kernel->boxed.call(context, values.data());
  }
  if (context.failed()) {
    const char* message = last_error_message();
    raise(context.failure(), name + ": " + (*message ? message : to_string(context.failure())));
  }
  return out_shapes(kernel->boxed, values);
}

}  // namespace

void bind_kernels(nb::module_& module) {
  using namespace nb::literals;
  module.def("call_kernel", &call_kernel, "name"_a, "args"_a, "library"_a = nb::none(), "threads"_a = 1,
             nb::sig("def call_kernel(name: str, args: typing.Sequence[typing.Any], library: str | None = None, "
                     "threads: int = 1) -> list[typing.Any]"));
  module.def("kernel_names", &kernel_names, "library"_a = nb::none());
  module.def("kernel_table", &kernel_table, "library"_a = nb::none());
}

}  // namespace rushlight::python
