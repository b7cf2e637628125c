// Loads a .pte file, runs one of its methods and prints the outputs.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/print.h"
#include "rushlight/module/defaults.h"
#include "rushlight/module/library.h"
#include "rushlight/module/module.h"
#include "rushlight/platform/platform.h"
#include "rushlight/threads/thread_pool.h"

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

Error run(const Options& options, const std::shared_ptr<LoadedProgram>& program) {
  for (const char* path : options.library_paths) RL_TRY(load_library(path).error());
  const std::vector<KernelTable> kernels = available_kernels();
  const std::vector<Backend> backends = available_backends();
  Environment environment;
  environment.kernels = {kernels.data(), kernels.size()};
  environment.backends = {backends.data(), backends.size()};
  environment.threads = &default_thread_pool();
  std::shared_ptr<LoadedData> data;
  if (!options.data_paths.empty()) {
    RL_ASSIGN(data,
              LoadedData::from_files(Span<const char* const>(options.data_paths.data(), options.data_paths.size())));
  }
  const uint64_t load_start = platform::now_ns();
  RL_ASSIGN(const auto loaded, LoadedMethod::load(program, options.method_name, environment, data));
  RL_TRY(loaded->allocate_outputs());
  const uint64_t load_end = platform::now_ns();
  InputFiles files;
  RL_TRY(files.set(loaded->method(), options.input_paths));
  uint64_t first = 0;
  const uint64_t run_start = platform::now_ns();
  for (long i = 0; i < options.executions; ++i) {
    const uint64_t start = platform::now_ns();
    RL_TRY(loaded->method().execute());
    if (i == 0) first = platform::now_ns() - start;
  }
  const uint64_t total = platform::now_ns() - run_start;
  print_outputs(loaded->method(), options.print);
  std::printf("method '%s': loaded in %.4g ms; first run %.4g ms", options.method_name.c_str(),
              milliseconds(load_end - load_start), milliseconds(first));
  if (options.executions > 1) {
    std::printf("; the other %ld: %.4g ms each", options.executions - 1,
                milliseconds(total - first) / static_cast<double>(options.executions - 1));
  }
  std::printf("\nmemory: %zu bytes planned, %zu of structures, %zu of scratch\n", loaded->planned_bytes(),
              loaded->method_bytes(), loaded->temporary_bytes());
  return Error::Ok;
}

int run_main(int argc, char** argv) {
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
  const auto program = LoadedProgram::from_file(options.model_path.c_str());
  if (!program.ok()) return failed(program.error());
  if (options.list) return list((*program)->program());
  const Error error = run(options, *program);
  return error == Error::Ok ? static_cast<int>(kDone) : failed(error);
}

}  // namespace
}  // namespace rushlight

int main(int argc, char** argv) { return rushlight::run_main(argc, argv); }
