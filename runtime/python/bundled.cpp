#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "python/bindings.h"
#include "python/errors.h"
#include "python/new_array.h"
#include "rushlight/module/bundled_module.h"
#include "rushlight/module/defaults.h"
#include "rushlight/threads/thread_pool.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

// A copy of a file, aligned to 16 bytes.
class AlignedCopy {
 public:
  AlignedCopy(const void* data, size_t size) : words_(size / sizeof(Word) + 1) {
    if (size > 0) std::memcpy(words_.data(), data, size);
  }
  const void* data() const { return words_.data(); }

 private:
  struct alignas(16) Word {
    uint8_t bytes[16];
  };
  std::vector<Word> words_;
};

// A bundled program and its loaded methods. Only one call runs at a time.
class BundledObject {
 public:
  explicit BundledObject(nb::bytes file)
      : file_(file.data(), file.size()), kernels_(available_kernels()), backends_(available_backends()) {
    Module::Options options;
    options.environment.kernels = {kernels_.data(), kernels_.size()};
    options.environment.backends = {backends_.data(), backends_.size()};
    options.environment.threads = &default_thread_pool();
    clear_last_error_message();
    auto loaded = BundledModule::from_buffer(file_.data(), file.size(), options);
    if (!loaded.ok()) raise_if(loaded.error());
    module_ = std::move(loaded.get());
  }

  nb::bytes program() const {
    const Span<const uint8_t> data = bundle().program_data();
    return nb::bytes(data.data(), data.size());
  }

  nb::list method_names() const {
    nb::list names;
    for (size_t i = 0; i < bundle().num_methods(); ++i) names.append(to_str(of(bundle().method_name(i))));
    return names;
  }

  size_t num_test_cases(std::string_view method) const { return of(bundle().num_test_cases(method)); }

  nb::list inputs(std::string_view method, size_t test_case) const {
    nb::list values;
    const size_t count = of(bundle().num_inputs(method, test_case));
    for (size_t i = 0; i < count; ++i) values.append(to_python(of(bundle().input(method, test_case, i))));
    return values;
  }

  nb::list expected_outputs(std::string_view method, size_t test_case) const {
    nb::list values;
    const size_t count = of(bundle().num_expected_outputs(method, test_case));
    for (size_t i = 0; i < count; ++i) values.append(to_python(of(bundle().expected_output(method, test_case, i))));
    return values;
  }

  nb::list execute(std::string_view method, size_t test_case) {
    const std::unique_lock<std::mutex> lock = wait();
    nb::list results;
    for (const EValue& value : run(method, test_case)) results.append(python::to_python(value, loaded_torch()));
    return results;
  }

  nb::list verify(std::string_view method, size_t test_case, double rtol, double atol) {
    const std::unique_lock<std::mutex> lock = wait();
    const std::vector<EValue> outputs = run(method, test_case);
    raise_if(module_->verify_method_outputs(method, test_case, rtol, atol));
    nb::list results;
    for (const EValue& value : outputs) results.append(python::to_python(value, loaded_torch()));
    return results;
  }

 private:
  const BundledProgram& bundle() const { return module_->bundled_program(); }

  template <typename T>
  static T of(Result<T> result) {
    if (!result.ok()) raise_if(result.error());
    return std::move(result.get());
  }

  static nb::object to_python(const BundledValue& value) {
    if (!value.is_tensor()) return python::to_python(value.number, nullptr);
    const TensorLayout& layout = value.layout;
    NewArray array = new_array(loaded_torch(), layout.dtype, layout.sizes, layout.dim_order.data());
    if (layout.nbytes > 0) std::memcpy(array.data, value.data, layout.nbytes);
    return std::move(array.object);
  }

  // Waits until no other thread runs a method.
  std::unique_lock<std::mutex> wait() {
    nb::gil_scoped_release release;
    return std::unique_lock<std::mutex>(mutex_);
  }

  std::vector<EValue> run(std::string_view method, size_t test_case) {
    nb::gil_scoped_release release;
    clear_last_error_message();
    auto outputs = module_->execute(method, test_case);
    if (!outputs.ok()) {
      nb::gil_scoped_acquire acquire;
      raise_if(outputs.error());
    }
    return std::move(outputs.get());
  }

  AlignedCopy file_;
  std::vector<KernelTable> kernels_;
  std::vector<Backend> backends_;
  std::unique_ptr<BundledModule> module_;
  std::mutex mutex_;
};

}  // namespace

void bind_bundled(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<BundledObject>(module, "BundledModule", "Runs the methods of a bundled program on their test cases.")
      .def(nb::init<nb::bytes>(), "file"_a)
      .def("program", &BundledObject::program, "Returns the bytes of the program.")
      .def("method_names", &BundledObject::method_names, nb::sig("def method_names(self) -> list[str]"),
           "Returns the names of the methods that have test cases.")
      .def("num_test_cases", &BundledObject::num_test_cases, "method"_a)
      .def("inputs", &BundledObject::inputs, "method"_a, "test_case"_a,
           nb::sig("def inputs(self, method: str, test_case: int) -> list[typing.Any]"))
      .def("expected_outputs", &BundledObject::expected_outputs, "method"_a, "test_case"_a,
           nb::sig("def expected_outputs(self, method: str, test_case: int) -> list[typing.Any]"))
      .def("execute", &BundledObject::execute, "method"_a, "test_case"_a,
           nb::sig("def execute(self, method: str, test_case: int) -> list[typing.Any]"),
           "Runs a method on the inputs of a test case and returns the outputs.")
      .def("verify", &BundledObject::verify, "method"_a, "test_case"_a, "rtol"_a, "atol"_a,
           nb::sig("def verify(self, method: str, test_case: int, rtol: float, atol: float) -> list[typing.Any]"),
           "Does the same as `execute`, and compares the outputs with the expected outputs.\n"
           "\n"
           "Raises:\n"
           "    InvalidStateError: An output differs from the expected output.");
}

}  // namespace rushlight::python
