#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rushlight/core/named_data.h"
#include "rushlight/exec/method.h"
#include "rushlight/module/growing_allocator.h"
#include "rushlight/module/tensor_ptr.h"
#include "rushlight/platform/mutex.h"
#include "rushlight/program/data_file.h"
#include "rushlight/program/program.h"

namespace rushlight {

// A program with its data loader. Any number of threads may use it.
class LoadedProgram {
 public:
  enum class Mode {
    Mmap,                      // the file is mapped, and constants are used in place
    File,                      // the file is read into memory
    MmapUseMlock,              // as Mmap, but the system keeps the pages in memory; see MlockConfig
    MmapUseMlockIgnoreErrors,  // as MmapUseMlock if the system allows it, else as Mmap
  };
  // Loads a program from a file. Returns the errors of Program::load(), or AccessFailed.
  static Result<std::shared_ptr<LoadedProgram>> from_file(const char* path, Mode mode = Mode::Mmap);
  // Loads a program from `size` bytes at `data`. `keep_alive` owns the bytes and is released with the program; null
  // means that the caller keeps them valid. Bytes that are not aligned to 64 (x86-64) or 16 are copied.
  static Result<std::shared_ptr<LoadedProgram>> from_buffer(const void* data, size_t size,
                                                            std::shared_ptr<void> keep_alive = nullptr);
  // Loads a program through a custom loader. `keep_alive` owns the loader; null means that the caller keeps it valid.
  static Result<std::shared_ptr<LoadedProgram>> from_loader(DataLoader* loader,
                                                            std::shared_ptr<void> keep_alive = nullptr);
  ~LoadedProgram();
  const Program& program() const { return *program_; }

  // The planned memories that the methods of the program share.
  class State final : public SharedState {
   public:
    ~State();
    bool shares(size_t memory) const override;
    // Returns planned memory `memory` with `size` bytes. It is allocated and set to zero at the first call.
    Result<Span<uint8_t>> arena(size_t memory, size_t size);
    bool holds(size_t memory, size_t offset) override;

   private:
    friend class LoadedProgram;
    Error read(const Program& program);
    platform::Mutex mutex_;
    // A file may contain many numbers of memories and many tensors, so that these are trees and not lists.
    std::map<size_t, Span<uint8_t>> arenas_;    // an arena is empty until its first use
    std::set<std::pair<size_t, size_t>> held_;  // the tensors that have a value: memory and offset
  };
  State& state() { return state_; }

 private:
  struct Source;
  LoadedProgram() = default;
  static Result<std::shared_ptr<LoadedProgram>> load(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
  std::unique_ptr<Program> program_;
  State state_;
};

// Several .ptd files as one map. A lookup searches the files in order.
class LoadedData final : public NamedDataMap {
 public:
  // Loads files. Returns the errors of DataFile::load(), or AccessFailed.
  static Result<std::shared_ptr<LoadedData>> from_files(Span<const char* const> paths);
  // Loads one file from its bytes. `keep_alive` owns the bytes; null means that the caller keeps them valid. Bytes that
  // are not aligned to 64 (x86-64) or 16 are copied.
  static Result<std::shared_ptr<LoadedData>> from_buffer(const void* data, size_t size,
                                                         std::shared_ptr<void> keep_alive = nullptr);
  ~LoadedData();
  Result<TensorLayout> tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> data(std::string_view key) const override;
  Error load_into(std::string_view key, void* buffer, size_t size) const override;
  uint32_t size() const override;
  const char* key(uint32_t index) const override;

 private:
  struct File;
  LoadedData() = default;
  const NamedDataMap* find(std::string_view key) const;
  std::vector<std::unique_ptr<File>> files_;
};

// A method that owns its memory, except for memory that the methods of the program share. It keeps its program and data
// alive. One thread uses it at a time.
class LoadedMethod {
 public:
  // Loads the method `name`. If `data` is not null, it replaces environment.data. The members of `memory` that are not
  // null replace the object's own memories; the caller owns them, and they outlive this object. If the caller gives
  // planned memories, the method shares no memory with other methods. Returns the errors of Method::load().
  static Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<LoadedProgram> program, std::string_view name,
                                                    const Environment& environment,
                                                    std::shared_ptr<LoadedData> data = nullptr,
                                                    const MemoryManager& memory = {});
  ~LoadedMethod();
  LoadedMethod(const LoadedMethod&) = delete;
  LoadedMethod& operator=(const LoadedMethod&) = delete;

  Method& method() { return *method_; }
  const LoadedProgram& program() const { return *program_; }

  // Allocates memory for outputs that have neither planned memory nor memory of the caller. The destructor of this
  // object frees it.
  Error allocate_outputs();
  // Counts the `size` bytes that the caller allocates for output `index` as memory of this method. Returns
  // OutOfResources if the memory limit is exceeded.
  Error count_output(size_t index, size_t size);

  // Sets an input of the following runs. Its value may be a result of the last run, as in the functions below.
  Error set_input(size_t index, const EValue& value);
  // Sets several inputs of the following runs, from input `first`. Their values may be results of the last run. A
  // result is copied if it is in memory that an input before it or the next run overwrites.
  Error set_inputs(Span<const EValue> values, size_t first = 0);
  // Marks all inputs as set, after the caller has set them directly on method().
  void note_inputs_set();
  // Sets the first inputs for this run with set_inputs() and executes the method. The other inputs keep their values
  // from set_input(). method() has the outputs. Returns InvalidArgument if an input is not set.
  Error run(Span<const EValue> inputs);

  // Returns whether an address is in a planned memory of this object.
  bool is_planned(const void* address) const;
  // Returns whether an address is in memory that set_inputs() or the next run overwrites.
  bool is_overwritten(const void* address) const;
  // Return the bytes of the planned memories, of the method's structures, and of scratch memory.
  size_t planned_bytes() const { return planned_bytes_; }
  size_t method_bytes() const { return method_memory_.footprint(); }
  size_t temporary_bytes() const { return temporary_memory_.footprint(); }

 private:
  struct Copy;
  struct HeldTensor;
  struct Input {
    TensorImpl* tensor = nullptr;  // null if the input is not a tensor
    std::unique_ptr<Copy> copy;    // of a result that is the input
    bool is_set = false;
  };

  LoadedMethod() = default;
  Error allocate_planned(const MethodMeta& meta);
  // Returns whether the shape or the elements of a tensor change if other inputs are set or the method is executed.
  bool is_changed(size_t index, const EValue& value) const;
  Error set_inputs_and_execute(Span<const EValue> inputs);

  std::shared_ptr<LoadedProgram> program_;
  std::shared_ptr<LoadedData> data_;
  MemoryBudget budget_;
  std::vector<void*> arenas_;
  std::vector<Span<uint8_t>> planned_;
  std::unique_ptr<HierarchicalAllocator> planned_memory_;
  GrowingAllocator method_memory_{4096, &budget_};
  GrowingAllocator temporary_memory_{64 * 1024, &budget_};
  std::vector<void*> outputs_;
  std::vector<Input> inputs_;
  std::unique_ptr<Method> method_;
  size_t planned_bytes_ = 0;
};

// A program whose methods are loaded at their first use. One thread uses a module at a time.
class Module {
 public:
  struct Options {
    Environment environment;              // kernels, backends, threads, tracer; data_paths replace its member `data`
    std::vector<std::string> data_paths;  // .ptd files
    LoadedProgram::Mode mode = LoadedProgram::Mode::Mmap;
  };
  // Loads a program from a file, or from `size` bytes at `data`, which the caller owns and keeps valid.
  static Result<std::unique_ptr<Module>> load(const char* path, const Options& options);
  static Result<std::unique_ptr<Module>> load_buffer(const void* data, size_t size, const Options& options);

  const Program& program() const { return program_->program(); }
  // Returns a method, and loads it at the first call. The module owns it.
  Result<LoadedMethod*> method(std::string_view name);
  // Loads a method with its own environment and memories; see LoadedMethod::load(). If a method with this name is
  // loaded already, it is freed first.
  Error load_method(std::string_view name, const Environment& environment, const MemoryManager& memory = {});
  bool is_method_loaded(std::string_view name) const { return methods_.find(name) != methods_.end(); }
  std::set<std::string> method_names() const;
  Result<MethodMeta> method_meta(std::string_view name) const { return program().method_meta(name); }
  // set_input() and set_inputs() set one input, or the first inputs, for all following executions, which may then omit
  // these inputs. set_output() sets the memory of an output that has no planned memory: `output` is a tensor over
  // memory of the caller.
  Error set_input(std::string_view name, size_t index, const EValue& value);
  Error set_inputs(std::string_view name, Span<const EValue> values);
  Error set_output(std::string_view name, size_t index, const Tensor& output);
  // Returns the outputs of the last execution.
  Result<std::vector<EValue>> get_outputs(std::string_view name);
  // Frees a method. The next use loads it again with the initial values of its buffers.
  void unload_method(std::string_view name);
  // Executes the method `name` and returns its outputs, which are valid until the next run of the method. They
  // may be inputs of this run.
  Result<std::vector<EValue>> execute(std::string_view name, Span<const EValue> inputs);
  // Does the same with inputs of any type that value_of() accepts: tensors and numbers.
  template <typename... Inputs, typename = std::void_t<decltype(value_of(std::declval<const Inputs&>()))...>>
  Result<std::vector<EValue>> execute(std::string_view name, const Inputs&... inputs) {
    const EValue values[sizeof...(Inputs) + 1] = {value_of(inputs)...};
    return execute(name, Span<const EValue>(values, sizeof...(Inputs)));
  }
  // Executes the method "forward".
  Result<std::vector<EValue>> forward(Span<const EValue> inputs) { return execute("forward", inputs); }
  template <typename... Inputs, typename = std::void_t<decltype(value_of(std::declval<const Inputs&>()))...>>
  Result<std::vector<EValue>> forward(const Inputs&... inputs) {
    return execute("forward", inputs...);
  }

 private:
  Module() = default;
  static Result<std::unique_ptr<Module>> make(std::shared_ptr<LoadedProgram> program, const Options& options);
  std::shared_ptr<LoadedProgram> program_;
  std::shared_ptr<LoadedData> data_;
  Environment environment_;
  std::map<std::string, std::unique_ptr<LoadedMethod>, std::less<>> methods_;
};

}  // namespace rushlight
