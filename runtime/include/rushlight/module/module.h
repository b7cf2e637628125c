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

// A program with the loader that feeds it.
class LoadedProgram {
 public:
  enum class Mode {
    Mmap,  // constants are used in place
    File,  // all is read into memory
  };
  static Result<std::shared_ptr<LoadedProgram>> from_file(const char* path, Mode mode = Mode::Mmap);
  // `keep_alive` owns the bytes and is released with the program; null if the caller keeps them. Bytes that are not
  // aligned to 16 are copied.
  static Result<std::shared_ptr<LoadedProgram>> from_buffer(const void* data, size_t size,
                                                            std::shared_ptr<void> keep_alive = nullptr);
  ~LoadedProgram();
  const Program& program() const { return *program_; }

  // The planned memories that the program says its methods share.
  class State final : public SharedState {
   public:
    ~State();
    bool shares(size_t memory) const override;
    // Memory `memory`, zeroed when it is first asked for.
    Result<Span<uint8_t>> arena(size_t memory, size_t size);
    bool holds(size_t memory, size_t offset) override;

   private:
    friend class LoadedProgram;
    Error read(const Program& program);
    platform::Mutex mutex_;
    std::map<size_t, Span<uint8_t>> arenas_;  // empty until one is asked for
    std::set<std::pair<size_t, size_t>> held_;
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

// .ptd files as one map; a key is looked up in the order of the files.
class LoadedData final : public NamedDataMap {
 public:
  static Result<std::shared_ptr<LoadedData>> from_files(Span<const char* const> paths);
  // The bytes of one file. `keep_alive` owns them; null if the caller keeps them. Aligned to 16.
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

// A method with memory of its own, taken from the platform, but for what the program's methods share. Keeps its program
// and data alive.
class LoadedMethod {
 public:
  // environment.data may be null; `data`, if any, replaces it.
  static Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<LoadedProgram> program, std::string_view name,
                                                    const Environment& environment,
                                                    std::shared_ptr<LoadedData> data = nullptr);
  ~LoadedMethod();
  LoadedMethod(const LoadedMethod&) = delete;
  LoadedMethod& operator=(const LoadedMethod&) = delete;

  Method& method() { return *method_; }
  const LoadedProgram& program() const { return *program_; }

  // Gives memory to the outputs that the plan has none for; freed with this.
  Error allocate_outputs();

  // Sets the inputs, runs, and leaves the outputs in method().
  Error run(Span<const EValue> inputs);

  // Bytes: planned arenas, the method's structures, scratch memory.
  size_t planned_bytes() const { return planned_bytes_; }
  size_t method_bytes() const { return method_memory_.footprint(); }
  size_t temporary_bytes() const { return temporary_memory_.footprint(); }

 private:
  LoadedMethod() = default;
  Error allocate_planned(const MethodMeta& meta);

  std::shared_ptr<LoadedProgram> program_;
  std::shared_ptr<LoadedData> data_;
  std::vector<void*> arenas_;
  std::vector<Span<uint8_t>> planned_;
  std::unique_ptr<HierarchicalAllocator> planned_memory_;
  GrowingAllocator method_memory_{4096};
  GrowingAllocator temporary_memory_;
  std::vector<void*> outputs_;
  std::unique_ptr<Method> method_;
  size_t planned_bytes_ = 0;
};

// A program whose methods are loaded when they are first used.
class Module {
 public:
  struct Options {
    Environment environment;              // kernels, backends, threads, tracer; its `data` is replaced by data_paths
    std::vector<std::string> data_paths;  // .ptd files
    LoadedProgram::Mode mode = LoadedProgram::Mode::Mmap;
  };
  static Result<std::unique_ptr<Module>> load(const char* path, const Options& options);
  static Result<std::unique_ptr<Module>> load_buffer(const void* data, size_t size, const Options& options);

  const Program& program() const { return program_->program(); }
  // Loads the method if it is not loaded yet.
  Result<LoadedMethod*> method(std::string_view name);
  void unload_method(std::string_view name);
  // The outputs of `name` for `inputs`, valid until the method's next run.
  Result<std::vector<EValue>> execute(std::string_view name, Span<const EValue> inputs);
  // The same for inputs that value_of() takes: tensors and numbers.
  template <typename... Inputs, typename = std::void_t<decltype(value_of(std::declval<const Inputs&>()))...>>
  Result<std::vector<EValue>> execute(std::string_view name, const Inputs&... inputs) {
    const EValue values[sizeof...(Inputs) + 1] = {value_of(inputs)...};
    return execute(name, Span<const EValue>(values, sizeof...(Inputs)));
  }
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
