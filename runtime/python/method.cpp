#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "python/bindings.h"
#include "python/errors.h"
#include "python/metadata.h"
#include "python/new_array.h"
#include "python/options.h"
#include "python/program.h"
#include "python/tensor_view.h"
#include "rushlight/module/defaults.h"
#include "trace/step_timer.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

// An input, and the owner of its value during a call.
struct Input {
  Tag tag;
  TensorInfo info;  // only for a tensor
  BorrowedTensor borrowed;
  TensorImpl impl;
  StridesType strides[kMaxDim];
  DimOrderType dim_order[kMaxDim];
  std::vector<uint8_t> packed;
  std::string text;
  std::string_view characters;
};

// How an output tensor is returned to the caller.
struct Output {
  bool is_direct = false;  // the method writes into the caller's array
  TensorInfo info;
  std::unique_ptr<uint8_t[]> memory;  // memory of an output that is neither planned nor direct
};

// Converts {backend: {key: bool, int or str}} to the runtime's options. options() returns views of this table.
class OptionTable {
 public:
  explicit OptionTable(nb::handle options) {
    for (auto [backend, values] : nb::cast<nb::dict>(options)) {
      Row& row = rows_.emplace_back();
      row.backend = nb::cast<std::string>(backend);
      for (auto [key, value] : nb::cast<nb::dict>(values)) row.options.emplace_back(key, value);
    }
    for (Row& row : rows_) {
      for (OptionValue& option : row.options) row.views.push_back(option.view());
      table_.push_back({row.backend, {row.views.data(), row.views.size()}});
    }
  }
  Span<const BackendOptions> options() const { return {table_.data(), table_.size()}; }

 private:
  struct Row {
    std::string backend;
    std::deque<OptionValue> options;
    std::vector<BackendOption> views;
  };
  std::deque<Row> rows_;
  std::vector<BackendOptions> table_;
};

class MethodObject {
 public:
  // `options` maps backend id and key to values. The constructor is optimized for size.
  [[gnu::cold]] MethodObject(const ProgramObject& program, std::string_view name, nb::handle options, bool is_timed)
      : program_(program) {
    const std::vector<KernelTable> kernels = available_kernels();
    const std::vector<Backend> backends = available_backends();
    Environment environment;
    environment.kernels = {kernels.data(), kernels.size()};
    environment.backends = {backends.data(), backends.size()};
    environment.threads = program.pool.get();
    const OptionTable table(options);
    environment.backend_options = table.options();
    environment.limits = program.limits;
    if (is_timed) {
      environment.tracer = &timer_;
    } else if (program.trace) {
      environment.tracer = &program.trace->tracer;
      trace_ = program.trace.get();
    }
    const std::unique_lock<std::mutex> tracing = lock_trace();
    clear_last_error_message();
    auto loaded = LoadedMethod::load(program.program, name, environment, program.data);
    if (!loaded.ok()) raise_if(loaded.error());
    loaded_ = std::move(loaded.get());
    prepare_inputs();
    prepare_outputs();
  }

  // If `clone_outputs` is false, an output in planned memory is an array over this memory.
  nb::list execute(nb::handle inputs, bool clone_outputs) {
    const nb::object items = tuple_of(inputs);
    const Running running(*this);
    set_inputs(items);
    nb::object results = nb::steal(PyList_New(static_cast<Py_ssize_t>(outputs_.size())));
    if (!results.is_valid()) throw nb::python_error();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].is_direct) continue;
      const TensorInfo& info = outputs_[i].info;
      NewArray array = new_array(library_, info.dtype, info.sizes, info.dim_order.data());
      check(method().set_output_data_ptr(i, array.data, info.nbytes));
      NB_LIST_SET_ITEM(results.ptr(), static_cast<Py_ssize_t>(i), array.object.release().ptr());
    }
    run();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].is_direct) continue;
      const EValue& value = method().get_output(i);
      nb::object result = clone_outputs || !is_planned(value) ? to_python(value, library_) : view_of(value);
      NB_LIST_SET_ITEM(results.ptr(), static_cast<Py_ssize_t>(i), result.release().ptr());
    }
    return nb::borrow<nb::list>(results);
  }

  void check_inputs(nb::handle inputs) {
    const nb::object items = tuple_of(inputs);
    const Running running(*this);
    set_inputs(items);
  }

  nb::object output_view(size_t index) {
    const Running running(*this);
    if (index >= outputs_.size()) {
      raise(Error::InvalidArgument, "method '" + std::string(method().meta().name()) + "' has " +
                                        std::to_string(outputs_.size()) +
                                        (outputs_.size() == 1 ? " output; the index " : " outputs; the index ") +
                                        std::to_string(index) + " is too large");
    }
    const EValue& value = method().get_output(index);
    if (!is_planned(value)) {
      raise(Error::NotSupported, "output " + std::to_string(index) + " of method '" +
                                     std::string(method().meta().name()) +
                                     "' is not a tensor in planned memory, so an array cannot share its memory");
    }
    library_ = loaded_torch();
    return view_of(value);
  }

  void cancel() { method().cancel(); }

  void reset_state() {
    const Running running(*this);
    raise_if(method().reset_state());
  }

  nb::object attribute(std::string_view name) {
    const Running running(*this);
    auto tensor = method().get_attribute(name);
    if (!tensor.ok()) raise_if(tensor.error());
    library_ = loaded_torch();
    return to_python(EValue(tensor.get()), library_);
  }

  MetadataOfMethod metadata() const { return {program_.program, loaded_->method().meta()}; }
  nb::tuple memory() const {
    return nb::make_tuple(loaded_->planned_bytes(), loaded_->method_bytes(), loaded_->temporary_bytes());
  }
  nb::list timings() const {
    nb::list items;
    for (const StepTimer::Event& event : timer_.events()) {
      if (event.id.instruction < 0) continue;
      items.append(nb::make_tuple(event.name, event.id.chain, event.id.instruction,
                                  event.id.kind == EventKind::DelegateOperator,
                                  static_cast<double>(event.end_ns - event.start_ns) * 1e-9));
    }
    return items;
  }
  std::vector<std::string> input_names;

 private:
  // Allows only one call at a time: waits for other threads, and releases the inputs at the end.
  class Running {
   public:
    explicit Running(MethodObject& object) : object_(object) {
      if (!object.mutex_.try_lock()) {
        if (object.runner_ == std::this_thread::get_id()) {
          raise(Error::InvalidState, "a method cannot be called from within its own call");
        }
        nb::gil_scoped_release release;
        object.mutex_.lock();
      }
      object.runner_ = std::this_thread::get_id();
    }
    ~Running() {
      for (Input& input : object_.inputs_) input.borrowed.release();
      object_.runner_ = std::thread::id();
      object_.mutex_.unlock();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    MethodObject& object_;
  };

  Method& method() { return loaded_->method(); }

  bool is_planned(const EValue& value) const {
    return value.is_tensor() && loaded_->is_planned(value.to_tensor().const_data_ptr());
  }

  // Returns an array over the memory of a planned tensor. The array keeps this object alive.
  nb::object view_of(const EValue& value) {
    const TensorImpl& impl = *value.to_tensor().impl();
    return view_array(library_, impl.dtype, value.to_tensor().sizes(), impl.dim_order, impl.data, nb::find(this));
  }

  // Waits until no other method records events. Locks nothing if there is no event trace.
  std::unique_lock<std::mutex> lock_trace() {
    if (!trace_) return {};
    nb::gil_scoped_release release;
    return std::unique_lock<std::mutex>(trace_->mutex);
  }

  static void check(Error error) { raise_if(error); }

  // Returns the inputs as a tuple, so that another thread cannot change them.
  static nb::object tuple_of(nb::handle inputs) {
    if (PyTuple_CheckExact(inputs.ptr())) return nb::borrow(inputs);
    const bool is_sequence =
        PyList_CheckExact(inputs.ptr()) || (PySequence_Check(inputs.ptr()) && !PyObject_CheckBuffer(inputs.ptr()) &&
                                            !PyUnicode_Check(inputs.ptr()) && !exchange_api(Py_TYPE(inputs.ptr())));
    if (!is_sequence) raise(Error::InvalidType, "inputs must be a list or a tuple, not " + type_name_of(inputs));
    nb::object items = nb::steal(PySequence_Tuple(inputs.ptr()));
    if (!items.is_valid()) throw nb::python_error();
    return items;
  }

  void prepare_inputs() {
    const MethodMeta meta = method().meta();
    for (size_t i = 0; i < method().inputs_size(); ++i) {
      Input& input = inputs_.emplace_back();
      input.tag = meta.input_tag(i).get();
      if (input.tag == Tag::Tensor) input.info = meta.input_tensor_meta(i).get();
    }
  }

  void prepare_outputs() {
    const MethodMeta meta = method().meta();
    std::vector<const TensorImpl*> seen;
    for (size_t i = 0; i < method().inputs_size(); ++i) {
      if (method().get_input(i).is_tensor()) seen.push_back(method().get_input(i).to_tensor().impl());
    }
    for (size_t i = 0; i < method().outputs_size(); ++i) {
      Output& output = outputs_.emplace_back();
      if (meta.output_tag(i).get() != Tag::Tensor || !method().output_needs_memory(i)) continue;
      const TensorImpl* impl = method().get_output(i).to_tensor().impl();
      if (std::find(seen.begin(), seen.end(), impl) != seen.end()) continue;
      seen.push_back(impl);
      output.info = meta.output_tensor_meta(i).get();
      check(loaded_->count_output(i, output.info.nbytes));
      output.is_direct = output.info.dynamism == ShapeDynamism::STATIC;
      if (output.is_direct) continue;
      output.memory.reset(new uint8_t[output.info.nbytes]);
      check(method().set_output_data_ptr(i, output.memory.get(), output.info.nbytes));
    }
  }

  void set_inputs(nb::handle items) {
    const auto given = static_cast<size_t>(NB_TUPLE_GET_SIZE(items.ptr()));
    if (given != inputs_.size()) {
      raise(Error::InvalidArgument, "method '" + std::string(method().meta().name()) + "' takes " +
                                        std::to_string(inputs_.size()) +
                                        (inputs_.size() == 1 ? " input, but " : " inputs, but ") +
                                        std::to_string(given) + (given == 1 ? " is given" : " are given"));
    }
    library_ = nullptr;
    bool has_tensor = false;
    for (size_t i = 0; i < given; ++i) {
      const nb::handle object(NB_TUPLE_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)));
      if (inputs_[i].tag == Tag::Tensor) {
        has_tensor = true;
        if (!library_) library_ = exchange_api(Py_TYPE(object.ptr()));
        read_tensor(i, object);
      } else {
        set_plain(i, object);
      }
    }
    // No input is set before all are read, because an input may be a view of an output in memory that another one uses.
    for (size_t i = 0; i < given; ++i) {
      if (inputs_[i].tag == Tag::Tensor) set_tensor(i);
    }
    if (!has_tensor) library_ = loaded_torch();
  }

  std::string describe_input(size_t index) {
    const TensorInfo& info = inputs_[index].info;
    return describe(info, input_ranges(program_.program->program(), method().meta().name(), index, info));
  }

  void read_tensor(size_t index, nb::handle object) {
    Input& input = inputs_[index];
    try {
      if (!input.borrowed.borrow(object)) throw NoTensor{"not " + type_name_of(object)};
    } catch (const NoTensor& error) {
      raise(Error::InvalidType, name_of(index) + " takes " + describe_input(index) + ", " + error.reason);
    }
    TensorView& view = input.borrowed.view;
    TensorImpl& impl = input.impl;
    impl.data = view.data;
    const DimOrderType* order = input.info.dim_order.data();
    if (input.info.dim_order.size() != view.dim) {
      for (int i = 0; i < view.dim; ++i) input.dim_order[i] = static_cast<DimOrderType>(i);
      order = input.dim_order;
    } else if (!is_dense_in(view, order) || reinterpret_cast<uintptr_t>(view.data) % element_size(view.dtype) != 0 ||
               loaded_->is_planned(view.data)) {
      input.packed.resize(view.nbytes() + 1);
      pack(view, order, input.packed.data());
      impl.data = input.packed.data();
    }
    strides_from_dim_order(view.shape(), order, input.strides);
    impl.sizes = view.sizes;
    impl.strides = input.strides;
    impl.dim_order = order;
    impl.numel = view.numel();
    impl.capacity = view.nbytes();
    impl.dtype = view.dtype;
    impl.dim = view.dim;
  }

  void set_tensor(size_t index) {
    Input& input = inputs_[index];
    const TensorView& view = input.borrowed.view;
    const Error error = method().set_input(index, EValue(&input.impl));
    if (error != Error::Ok) {
      raise(error, name_of(index) + " takes " + describe_input(index) + ", but " + describe(view.dtype, view.shape()) +
                       " is given: " + last_error_message());
    }
  }

  void set_plain(size_t index, nb::handle object) {
    const Tag tag = inputs_[index].tag;
    EValue value;
    try {
      value = plain_value(inputs_[index], object);
    } catch (const nb::python_error& error) {
      raise(error.matches(PyExc_TypeError) ? Error::InvalidType : Error::InvalidArgument,
            name_of(index) + " takes a value of type " + to_string(tag) + ", not " + type_name_of(object) + " (" +
                text_of(error.value()) + ")");
    }
    const Error error = method().set_input(index, value);
    if (error != Error::Ok) raise(error, name_of(index) + " is invalid: " + last_error_message());
  }

  static bool is_bool_of_numpy(nb::handle object) {
    const std::string name = type_name_of(object);
    return name == "bool" || name == "bool_";
  }

  // Returns a Python object that is not a tensor as a value of the runtime.
  static EValue plain_value(Input& input, nb::handle object) {
    if (object.is_none()) return EValue();
    if (PyBool_Check(object.ptr()) || (input.tag == Tag::Bool && is_bool_of_numpy(object))) {
      const bool truth = nb::cast<bool>(nb::bool_(object));
      return input.tag == Tag::Int ? EValue(int64_t{truth}) : EValue(truth);
    }
    if (PyUnicode_Check(object.ptr())) {
      input.text = text_of(object);
      input.characters = input.text;
      return EValue(&input.characters);
    }
    if (input.tag == Tag::Double) {
      const double number = PyFloat_AsDouble(object.ptr());
      if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
      return EValue(number);
    }
    const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
    const long long integer = number.is_valid() ? PyLong_AsLongLong(number.ptr()) : -1;
    if (integer == -1 && PyErr_Occurred()) throw nb::python_error();
    return EValue(int64_t{integer});
  }

  // Returns the name of an input, such as "input 1" or "input 1 (args[0]['mask'])".
  std::string name_of(size_t index) const {
    const std::string text = "input " + std::to_string(index);
    return index < input_names.size() ? text + " (" + input_names[index] + ")" : text;
  }

  void run() {
    Error error;
    {
      nb::gil_scoped_release release;
      const std::unique_lock<std::mutex> tracing =
          trace_ ? std::unique_lock<std::mutex>(trace_->mutex) : std::unique_lock<std::mutex>();
      clear_last_error_message();
      error = method().execute();
    }
    if (error == Error::Ok) return;
    const ExecutionFailure& failure = method().failure();
    const DelegateOperator& op = failure.delegate_operator;
    nb::object inside = nb::none();
    if (!op.name.empty()) {
      inside = to_str(op.name);
    } else if (op.number >= 0) {
      inside = nb::int_(op.number);
    }
    raise_at(error, last_error_message(), method().meta().name(), failure.instruction, inside);
  }

  ProgramObject program_;
  StepTimer timer_;
  Trace* trace_ = nullptr;  // the event trace for this method, owned by program_; null: none
  std::unique_ptr<LoadedMethod> loaded_;
  std::deque<Input> inputs_;
  std::vector<Output> outputs_;
  const ExchangeApi* library_ = nullptr;  // the library of the returned arrays; null means numpy
  std::mutex mutex_;
  std::thread::id runner_;
};

}  // namespace

constexpr const char* kExecuteDoc = R"(Runs the method.

Other Python threads can run during the call. Calls of one method run one after the other.

Args:
    inputs: One item for each input. A tensor is a torch tensor, a numpy array or an object that supports
        DLPack. Its elements are copied only if memory is planned for the input, or if they are not dense in
        the method's dim order.
    clone_outputs: Whether the outputs own their memory. If False, an output in planned memory is an array over
        this memory, which the next call overwrites.

Returns:
    One item for each output. The tensors are torch tensors if one of the inputs is, or if no input is a tensor and
    torch is loaded; otherwise they are numpy arrays.

Raises:
    InvalidArgumentError: The number of inputs or a shape is wrong.
    InvalidTypeError: The dtype of an input is wrong.
)";

[[gnu::cold]] void bind_method(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<MethodObject>(module, "Method", "A method that can be executed. Keeps its program alive.")
      .def(nb::init<const ProgramObject&, std::string_view, nb::dict, bool>(), "program"_a, "name"_a,
           "backend_options"_a = nb::dict(), "is_timed"_a = false,
           nb::sig("def __init__(self, program: Program, name: str, backend_options: typing.Mapping[str, "
                   "typing.Mapping[str, bool | int | str]] = {}, is_timed: bool = False) -> None"))
      .def("execute", &MethodObject::execute, "inputs"_a.none(), "clone_outputs"_a = true,
           nb::sig("def execute(self, inputs: typing.Sequence[typing.Any], clone_outputs: bool = True) -> "
                   "list[typing.Any]"),
           kExecuteDoc)
      .def("__call__", &MethodObject::execute, "inputs"_a.none(), "clone_outputs"_a = true,
           nb::sig("def __call__(self, inputs: typing.Sequence[typing.Any], clone_outputs: bool = True) -> "
                   "list[typing.Any]"))
      .def("check_inputs", &MethodObject::check_inputs, "inputs"_a.none(),
           nb::sig("def check_inputs(self, inputs: typing.Sequence[typing.Any]) -> None"),
           "Checks the inputs and raises the same errors as `execute`, without running the method.")
      .def("output_view", &MethodObject::output_view, "index"_a,
           nb::sig("def output_view(self, index: int) -> typing.Any"),
           "Returns an array over the planned memory of an output, such as a parameter that the method returns.\n"
           "Writing to the array changes the state of the method. The array is a torch tensor if torch is loaded.")
      .def("cancel", &MethodObject::cancel,
           "Stops the call that runs on another thread, before its next instruction. The call then raises\n"
           "CancelledError. A later call is not affected.")
      .def("reset_state", &MethodObject::reset_state,
           "Sets mutable buffers back to their contents after loading. Buffers that several methods share change\n"
           "for all of these methods.")
      .def("get_attribute", &MethodObject::attribute, "name"_a,
           nb::sig("def get_attribute(self, name: str) -> typing.Any"),
           "Returns a copy of the buffer with this fully qualified name.")
      .def_prop_ro("metadata", &MethodObject::metadata)
      .def("memory", &MethodObject::memory, nb::sig("def memory(self) -> tuple[int, int, int]"),
           "Returns the bytes of planned memory, of the method's structures, and of scratch memory until now.")
      .def("timings", &MethodObject::timings, nb::sig("def timings(self) -> list[tuple[str, int, int, bool, float]]"),
           "Returns the times of the last run of a timed method, in order. An item contains the name, the chain,\n"
           "the instruction, whether it is a step inside the delegate of the instruction, and the seconds.")
      .def_rw("input_names", &MethodObject::input_names, "The names of the inputs in error messages.");
}

}  // namespace rushlight::python
