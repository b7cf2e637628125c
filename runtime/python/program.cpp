#include "python/program.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "python/bindings.h"
#include "python/errors.h"
#include "python/metadata.h"
#include "python/options.h"
#include "rushlight/module/backends.h"
#include "rushlight/module/defaults.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) raise_if(result.error());
  return std::move(result.get());
}

// Returns an owner of a Python buffer, which releases the buffer on any thread.
std::shared_ptr<void> keep(Py_buffer* buffer) {
  return std::shared_ptr<void>(buffer, [](void* pointer) {
    auto* kept = static_cast<Py_buffer*>(pointer);
    if (Py_IsInitialized()) {
      nb::gil_scoped_acquire acquire;
      PyBuffer_Release(kept);
    }
    delete kept;
  });
}

std::shared_ptr<HostThreadPool> pool_of(std::optional<size_t> threads) {
  if (threads && *threads == 0) raise(Error::InvalidArgument, "threads must be at least 1, not 0");
  if (!threads || *threads == default_thread_pool().thread_count()) {
    if (default_thread_pool().thread_count() == 1) return nullptr;
    return std::shared_ptr<HostThreadPool>(&default_thread_pool(), [](HostThreadPool*) {});
  }
  return *threads == 1 ? nullptr : std::make_shared<HostThreadPool>(*threads);
}

// Holds a Python buffer until the shared pointer releases it.
struct Bytes {
  const void* data;
  size_t size;
  std::shared_ptr<void> keep_alive;

  explicit Bytes(nb::handle object) {
    auto* buffer = new Py_buffer;
    if (PyObject_GetBuffer(object.ptr(), buffer, PyBUF_SIMPLE) != 0) {
      delete buffer;
      throw nb::python_error();
    }
    data = buffer->buf;
    size = static_cast<size_t>(buffer->len);
    keep_alive = keep(buffer);
  }
};

// Loads the data files. `data` is a list of paths, or the bytes of one file.
std::shared_ptr<LoadedData> data_of(nb::handle data) {
  if (!PyList_Check(data.ptr())) {
    Bytes bytes(data);
    return value_of(LoadedData::from_buffer(bytes.data, bytes.size, std::move(bytes.keep_alive)));
  }
  const auto paths = nb::cast<std::vector<std::string>>(data);
  if (paths.empty()) return nullptr;
  std::vector<const char*> names;
  for (const std::string& path : paths) names.push_back(path.c_str());
  return value_of(LoadedData::from_files({names.data(), names.size()}));
}

ProgramObject load_file(const std::string& path, nb::handle data, std::optional<size_t> threads) {
  ProgramObject object{nullptr, data_of(data), pool_of(threads)};
  clear_last_error_message();
  object.program = value_of(LoadedProgram::from_file(path.c_str()));
  return object;
}

ProgramObject load_buffer(nb::handle program, nb::handle data, std::optional<size_t> threads) {
  ProgramObject object{nullptr, data_of(data), pool_of(threads)};
  Bytes bytes(program);
  clear_last_error_message();
  object.program = value_of(LoadedProgram::from_buffer(bytes.data, bytes.size, std::move(bytes.keep_alive)));
  return object;
}

void verify_digest(const ProgramObject& object) { raise_if(object.program->program().verify_digest()); }

nb::list method_names(const ProgramObject& object) {
  nb::list names;
  const Program& program = object.program->program();
  for (size_t i = 0; i < program.num_methods(); ++i) names.append(to_str(value_of(program.method_name(i))));
  return names;
}

nb::list named_data(const ProgramObject& object) {
  nb::list keys;
  const Program& program = object.program->program();
  for (size_t i = 0; i < program.num_named_data(); ++i) keys.append(to_str(value_of(program.named_data_key(i))));
  return keys;
}

// Returns the event trace, or raises NotFound.
Trace& trace_of(const ProgramObject& object) {
  if (!object.trace) raise(Error::NotFound, "there is no event trace: load the program with enable_etdump=True");
  return *object.trace;
}

nb::bytes bytes_of(Span<const uint8_t> data) { return nb::bytes(data.data(), data.size()); }

nb::tuple etdump(const ProgramObject& object) {
  Trace& trace = trace_of(object);
  std::unique_lock<std::mutex> lock(trace.mutex, std::defer_lock);
  {
    nb::gil_scoped_release release;
    lock.lock();
  }
  const Span<const uint8_t> dump = trace.tracer.get_etdump_data();
  if (dump.empty())
    raise(Error::MemoryAllocationFailed, "the buffer of the event trace is too small for an empty dump");
  return nb::make_tuple(bytes_of(dump), bytes_of(trace.tracer.get_debug_data()), trace.tracer.dropped_events());
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend& row : available_backends()) names.emplace_back(row.id);
  return names;
}

bool is_backend_available(std::string_view name) {
  const std::vector<Backend> backends = available_backends();
  const Backend* row = find_backend({backends.data(), backends.size()}, name);
  return row && row->backend->is_available();
}

// Returns a row of available_backends(), or raises NotFound.
BackendInterface& backend_of(std::string_view name) {
  const std::vector<Backend> backends = available_backends();
  const Backend* row = find_backend({backends.data(), backends.size()}, name);
  if (!row) raise(Error::NotFound, "there is no backend '" + std::string(name) + "'");
  return *row->backend;
}

void set_backend_option(std::string_view name, nb::handle key, nb::handle value) {
  const OptionValue option(key, value);
  clear_last_error_message();
  raise_if(backend_of(name).set_option(option.view()));
}

nb::object get_backend_option(std::string_view name, std::string_view key) {
  clear_last_error_message();
  const EValue value = value_of(backend_of(name).get_option(key));
  if (value.tag == Tag::Bool) return nb::bool_(value.to_bool());
  if (value.tag == Tag::Int) return nb::int_(value.to_int());
  if (value.tag == Tag::String) return to_str(value.to_string_view());
  raise(Error::InvalidType, "option '" + std::string(key) + "' has the unsupported type " + to_string(value.tag));
}

// Returns a list of (backend, method, text that says how to get the backend).
nb::list backends_missing(const ProgramObject& object) {
  nb::list missing;
  const Program& program = object.program->program();
  const std::vector<Backend> backends = available_backends();
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const std::string_view name = value_of(program.method_name(i));
    for (const MissingBackend& row :
         missing_backends(value_of(program.method_meta(name)), {backends.data(), backends.size()})) {
      missing.append(nb::make_tuple(to_str(row.id), to_str(name), to_str(row.provision)));
    }
  }
  return missing;
}

}  // namespace

void bind_program(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<ProgramObject>(module, "Program", "A loaded program.")
      .def("method_names", &method_names, nb::sig("def method_names(self) -> list[str]"))
      .def(
          "method_meta",
          [](const ProgramObject& object, std::string_view name) {
            clear_last_error_message();
            return MetadataOfMethod{object.program, value_of(object.program->program().method_meta(name))};
          },
          "name"_a,
          "Returns the description of a method.\n"
          "\n"
          "Raises:\n"
          "    NotFoundError: The program does not have the method.")
      .def("named_data", &named_data, nb::sig("def named_data(self) -> list[str]"),
           "Returns the keys of the data that the program stores by name.")
      .def("missing_backends", &backends_missing, nb::sig("def missing_backends(self) -> list[tuple[str, str, str]]"),
           "Returns the missing backends of all methods. An item contains the backend, the method that needs it,\n"
           "and a text that says how to get the backend.")
      .def(
          "enable_etdump",
          [](ProgramObject& object, size_t buffer_size, size_t debug_buffer_size, bool allocations) {
            object.trace = std::make_shared<Trace>(buffer_size, debug_buffer_size, allocations);
          },
          "buffer_size"_a, "debug_buffer_size"_a, "allocations"_a = false,
          "Records the events of methods that are loaded later.\n"
          "\n"
          "Args:\n"
          "    buffer_size: The bytes of the buffer for events.\n"
          "    debug_buffer_size: The bytes of the buffer for outputs of instructions; 0 records no outputs.\n"
          "    allocations: Whether allocations of memory are recorded too.")
      .def("verify_digest", &verify_digest,
           "Compares the bytes of the file with the SHA-256 digest in the file.\n"
           "\n"
           "Raises:\n"
           "    InvalidProgramError: They differ, or the file contains no digest.")
      .def(
          "set_limits",
          [](ProgramObject& object, std::optional<uint64_t> instructions, std::optional<size_t> memory) {
            object.limits = {instructions.value_or(UINT64_MAX), memory.value_or(SIZE_MAX)};
          },
          "instructions"_a.none(), "memory"_a.none(),
          "Sets the limits of methods that are loaded later. None means no limit.\n"
          "\n"
          "Args:\n"
          "    instructions: The maximum number of instructions of one call.\n"
          "    memory: The maximum number of bytes of memory.")
      .def("has_etdump", [](const ProgramObject& object) { return object.trace != nullptr; })
      .def("etdump", &etdump, nb::sig("def etdump(self) -> tuple[bytes, bytes, int]"),
           "Returns the event trace: an ETDump, the debug buffer, and the number of events that did not fit.")
      .def("thread_count", [](const ProgramObject& object) { return object.pool ? object.pool->thread_count() : 1; });
  module.def("load_file", &load_file, "path"_a, "data"_a, "threads"_a.none(),
             nb::sig("def load_file(path: str, data: list[str] | bytes | memoryview, threads: int | None) -> Program"),
             "Maps the file of a program into memory.\n"
             "\n"
             "Args:\n"
             "    path: The .pte file.\n"
             "    data: The paths of .ptd files, or the bytes of one .ptd file.\n"
             "    threads: The number of threads, or None for the default pool.");
  module.def("load_buffer", &load_buffer, "program"_a, "data"_a, "threads"_a.none(),
             nb::sig("def load_buffer(program: bytes | memoryview, data: list[str] | bytes | memoryview, "
                     "threads: int | None) -> Program"));
  module.def("backend_names", &backend_names);
  module.def("is_backend_available", &is_backend_available, "name"_a);
  module.def("set_backend_option", &set_backend_option, "backend"_a, "key"_a, "value"_a,
             nb::sig("def set_backend_option(backend: str, key: str, value: bool | int | str) -> None"));
  module.def("get_backend_option", &get_backend_option, "backend"_a, "key"_a,
             nb::sig("def get_backend_option(backend: str, key: str) -> bool | int | str"));
  module.def(
      "get_thread_count", [] { return default_thread_pool().thread_count(); },
      "Returns the number of threads of the default pool. A program uses this pool unless it is loaded with\n"
      "another number of threads.");
  module.def("set_thread_count", [](size_t threads) { default_thread_pool().set_thread_count(threads); }, "threads"_a);
}

}  // namespace rushlight::python
