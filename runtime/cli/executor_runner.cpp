#include "cli/executor_runner.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/print.h"
#include "rushlight/exec/bundled_test.h"
#include "rushlight/module/defaults.h"
#include "rushlight/module/file_loader.h"
#include "rushlight/module/library.h"
#include "rushlight/module/module.h"
#include "rushlight/platform/platform.h"
#include "rushlight/threads/thread_pool.h"
#include "rushlight/trace/etdump.h"

namespace rushlight {
namespace {

enum ExitCode : int { kDone = 0, kFailed = 1, kUsage = 2 };

double milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

int failed(Error error) {
  std::fflush(stdout);
  std::fprintf(stderr, "executor_runner: %s: %s\n", to_string(error), last_error_message());
  return kFailed;
}

int list(const Program& program) {
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const auto name = program.method_name(i);
    if (!name.ok()) return failed(name.error());
    const auto meta = program.method_meta(*name);
    if (!meta.ok()) return failed(meta.error());
    print_method(*meta);
  }
  return kDone;
}

// The event trace of a run, with its memory.
struct Trace {
  explicit Trace(const Options& options)
      : events(new uint8_t[static_cast<size_t>(options.etdump_buffer_size)]),
        tracer({events.get(), static_cast<size_t>(options.etdump_buffer_size)}) {
    if (options.debug_output_path.empty()) return;
    values.reset(new uint8_t[static_cast<size_t>(options.debug_buffer_size)]);
    tracer.set_debug_buffer({values.get(), static_cast<size_t>(options.debug_buffer_size)});
    tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::IntermediateOutputs);
  }

  Error write(const Options& options) {
    const Span<const uint8_t> dump = tracer.get_etdump_data();
    RL_REQUIRE(!dump.empty(), InvalidArgument, "--etdump_buffer_size %ld is too small for an empty dump",
               options.etdump_buffer_size);
    RL_TRY(write_file(options.etdump_path, dump));
    if (!options.debug_output_path.empty()) RL_TRY(write_file(options.debug_output_path, tracer.get_debug_data()));
    if (tracer.dropped_events() > 0) {
      std::fprintf(stderr,
                   "executor_runner: %llu events did not fit into the event trace; larger buffers record more events\n",
                   static_cast<unsigned long long>(tracer.dropped_events()));
    }
    return Error::Ok;
  }

  static Error write_file(const std::string& path, Span<const uint8_t> data) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    RL_REQUIRE(file, AccessFailed, "'%.200s' cannot be written: %s", path.c_str(), std::strerror(errno));
    const bool is_written = std::fwrite(data.data(), 1, data.size(), file) == data.size();
    const bool is_closed = std::fclose(file) == 0;
    RL_REQUIRE(is_written && is_closed, AccessFailed, "'%.200s' cannot be written: %s", path.c_str(),
               std::strerror(errno));
    return Error::Ok;
  }

  std::unique_ptr<uint8_t[]> events, values;
  ETDumpGen tracer;
};

// The file of a program, and the test cases if it is a bundled program.
struct Source {
  Error open(const Options& options) {
    RL_ASSIGN(loader, MmapDataLoader::open(options.model_path.c_str()));
    RL_ASSIGN(const size_t size, loader->size());
    if (size < 8) return load_program(options);
    RL_ASSIGN(file, loader->load(0, size, SegmentKind::Program));
    if (!is_bundled_program(file.data(), size)) return load_program(options);
    RL_ASSIGN(BundledProgram bundled, BundledProgram::load(file.data(), size));
    bundle = std::make_unique<BundledProgram>(bundled);
    RL_ASSIGN(program, LoadedProgram::from_buffer(bundle->program_data().data(), bundle->program_data().size()));
    return options.verify_digest ? program->program().verify_digest() : Error::Ok;
  }

  Error load_program(const Options& options) {
    RL_REQUIRE(!options.is_bundled, InvalidArgument,
               "'%s' is not a bundled program; use --model_path for a program without test cases",
               options.model_path.c_str());
    RL_REQUIRE(options.testset_idx < 0, InvalidArgument, "--testset_idx needs a bundled program, a .bpte file");
    RL_ASSIGN(program, LoadedProgram::from_file(options.model_path.c_str()));
    return options.verify_digest ? program->program().verify_digest() : Error::Ok;
  }

  std::unique_ptr<MmapDataLoader> loader;
  FreeableBuffer file;
  std::unique_ptr<BundledProgram> bundle;  // null: a program without test cases
  std::shared_ptr<LoadedProgram> program;
};

// Executes a method `options.executions` times, and prints its outputs and the times.
Error execute(const Options& options, Method& method) {
  uint64_t first = 0;
  const uint64_t run_start = platform::now_ns();
  for (long i = 0; i < options.executions; ++i) {
    const uint64_t start = platform::now_ns();
    RL_TRY(method.execute());
    if (i == 0) first = platform::now_ns() - start;
  }
  const uint64_t total = platform::now_ns() - run_start;
  print_outputs(method, options.print);
  std::printf("first run %.4g ms", milliseconds(first));
  if (options.executions > 1) {
    std::printf("; the other %ld: %.4g ms each", options.executions - 1,
                milliseconds(total - first) / static_cast<double>(options.executions - 1));
  }
  std::printf("\n");
  return Error::Ok;
}

// Executes a method on its test cases.
Error execute_tests(const Options& options, const BundledProgram& bundle, Method& method, EventTracer* tracer) {
  RL_ASSIGN(const size_t count, bundle.num_test_cases(method.meta().name()));
  const size_t begin = options.testset_idx < 0 ? 0 : static_cast<size_t>(options.testset_idx);
  const size_t end = options.testset_idx < 0 ? count : begin + 1;
  size_t wrong = 0;
  for (size_t test = begin; test < end; ++test) {
    RL_TRY(load_bundled_input(method, bundle, test));
    if (tracer) tracer->set_bundled_input_index(static_cast<int32_t>(test));
    std::printf("test case %zu:\n", test);
    RL_TRY(execute(options, method));
    if (!options.output_verification) continue;
    if (const Error error = verify_method_outputs(method, bundle, test, options.rtol, options.atol);
        error != Error::Ok) {
      failed(error);
      ++wrong;
      continue;
    }
    std::printf("test case %zu: the outputs are as expected (rtol %g, atol %g)\n", test, options.rtol, options.atol);
  }
  RL_REQUIRE(wrong == 0, InvalidState, "%zu of %zu test cases do not have the expected outputs", wrong, end - begin);
  return Error::Ok;
}

Error run(const Options& options, const Source& source) {
  for (const char* path : options.library_paths) RL_TRY(load_library(path).error());
  const std::vector<KernelTable> kernels = available_kernels();
  const std::vector<Backend> backends = available_backends();
  const auto trace = options.etdump_path.empty() ? nullptr : std::make_unique<Trace>(options);
  Environment environment;
  environment.kernels = {kernels.data(), kernels.size()};
  environment.backends = {backends.data(), backends.size()};
  environment.threads = &default_thread_pool();
  environment.tracer = trace ? &trace->tracer : nullptr;
  if (options.max_instructions > 0) environment.limits.instructions = static_cast<uint64_t>(options.max_instructions);
  if (options.max_memory > 0) environment.limits.memory = static_cast<size_t>(options.max_memory);
  std::shared_ptr<LoadedData> data;
  if (!options.data_paths.empty()) {
    RL_ASSIGN(data,
              LoadedData::from_files(Span<const char* const>(options.data_paths.data(), options.data_paths.size())));
  }
  const uint64_t load_start = platform::now_ns();
  RL_ASSIGN(const auto loaded, LoadedMethod::load(source.program, options.method_name, environment, data));
  RL_TRY(loaded->allocate_outputs());
  std::printf("method '%s': loaded in %.4g ms\n", options.method_name.c_str(),
              milliseconds(platform::now_ns() - load_start));
  Error error = Error::Ok;
  InputFiles files;
  if (source.bundle && options.input_paths.empty()) {
    error = execute_tests(options, *source.bundle, loaded->method(), environment.tracer);
  } else {
    RL_TRY(files.set(loaded->method(), options.input_paths));
    error = execute(options, loaded->method());
  }
  if (error == Error::Ok) {
    std::printf("memory: %zu bytes planned, %zu of structures, %zu of scratch\n", loaded->planned_bytes(),
                loaded->method_bytes(), loaded->temporary_bytes());
  }
  if (!trace) return error;
  if (error == Error::Ok) return trace->write(options);
  // The trace is written even if the run failed. The message of the failure is kept.
  const std::string message = last_error_message();
  static_cast<void>(trace->write(options));
  return fail(error, "%s", message.c_str());
}

}  // namespace

int executor_runner(int argc, char** argv) {
  Options options;
  switch (parse_options(argc, argv, &options)) {
    case ParseResult::Run:
      break;
    case ParseResult::Help:
      return kDone;
    case ParseResult::Wrong:
      return kUsage;
  }
  if (options.threads > 0) default_thread_pool().set_thread_count(static_cast<size_t>(options.threads));
  Source source;
  if (const Error opened = source.open(options); opened != Error::Ok) return failed(opened);
  if (options.list) return list(source.program->program());
  const Error error = run(options, source);
  return error == Error::Ok ? static_cast<int>(kDone) : failed(error);
}

}  // namespace rushlight
