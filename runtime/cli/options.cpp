#include "cli/options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rushlight {
namespace {

constexpr char kHelp[] =
    "usage: executor_runner --model_path FILE.pte [options]\n"
    "  --model_path FILE        program to run, a .pte or .bpte file (or the first argument without an option)\n"
    "  --bundled_program_path FILE  the same for a .bpte file: runs the test cases of the method and compares the "
    "outputs\n"
    "  --testset_idx N          run only this test case\n"
    "  --output_verification B  whether to compare the outputs of test cases: true or false (default: true)\n"
    "  --rtol X, --atol X       tolerances of this comparison (default: 1e-5 and 1e-8)\n"
    "  --method_name NAME       method to run (default: forward)\n"
    "  --inputs FILE[,FILE...]  for each tensor input, a file of raw little-endian elements; without it, tensors are\n"
    "                           filled with ones\n"
    "  --data_path FILE[,...]   .ptd files with data of the program\n"
    "  --kernel_library FILE[,...]  shared libraries of kernels and backends\n"
    "  --num_executions N       number of runs (default: 1)\n"
    "  --num_threads N          number of threads (default: RUSHLIGHT_NUM_THREADS, or one per core)\n"
    "  --max_instructions N     maximum number of instructions of a run (default: 1073741824)\n"
    "  --max_memory N           maximum bytes of planned memory, structures, scratch and outputs (default: no limit)\n"
    "  --verify_digest          fail if the bytes of the program differ from its SHA-256 digest, or if it has no "
    "digest\n"
    "  --print_output MODE      all, summary or none (default: summary)\n"
    "  --etdump_path FILE       write the events of loading and running as an ETDump\n"
    "  --etdump_buffer_size N   size of the event buffer in bytes (default: 16777216)\n"
    "  --debug_output_path FILE write the outputs of all instructions, to which the ETDump refers\n"
    "  --debug_buffer_size N    size of the buffer for these outputs in bytes (default: 16777216)\n"
    "  --list                   print the methods with their inputs and outputs, and exit\n"
    "exit status: 0 success, 1 error, 2 wrong command line\n";

bool parse_count(const char* option, const char* text, long* count) {
  char* end = nullptr;
  *count = std::strtol(text, &end, 10);
  if (*text != '\0' && *end == '\0' && *count > 0) return true;
  std::fprintf(stderr, "executor_runner: %s takes a positive number, not '%s'\n", option, text);
  return false;
}

bool parse_index(const char* option, const char* text, long* index) {
  char* end = nullptr;
  *index = std::strtol(text, &end, 10);
  if (*text != '\0' && *end == '\0' && *index >= 0) return true;
  std::fprintf(stderr, "executor_runner: %s takes a number that is at least 0, not '%s'\n", option, text);
  return false;
}

bool parse_tolerance(const char* option, const char* text, double* tolerance) {
  char* end = nullptr;
  *tolerance = std::strtod(text, &end);
  if (*text != '\0' && *end == '\0' && *tolerance >= 0) return true;
  std::fprintf(stderr, "executor_runner: %s takes a number that is not negative, not '%s'\n", option, text);
  return false;
}

bool parse_truth(const char* option, const char* text, bool* truth) {
  *truth = std::strcmp(text, "true") == 0;
  if (*truth || std::strcmp(text, "false") == 0) return true;
  std::fprintf(stderr, "executor_runner: %s takes true or false, not '%s'\n", option, text);
  return false;
}

// Splits a text at commas. The parts point into the text.
void split(char* text, std::vector<const char*>* parts) {
  for (char* part = text; part;) {
    char* comma = std::strchr(part, ',');
    if (comma) *comma = '\0';
    if (*part) parts->push_back(part);
    part = comma ? comma + 1 : nullptr;
  }
}

bool parse_print(const char* text, PrintMode* mode) {
  if (std::strcmp(text, "all") == 0) {
    *mode = PrintMode::All;
  } else if (std::strcmp(text, "summary") == 0) {
    *mode = PrintMode::Summary;
  } else if (std::strcmp(text, "none") == 0) {
    *mode = PrintMode::None;
  } else {
    std::fprintf(stderr, "executor_runner: --print_output takes all, summary or none, not '%s'\n", text);
    return false;
  }
  return true;
}

bool set_option(const std::string& name, char* value, Options* options) {
  if (name == "--model_path" || name == "--bundled_program_path") {
    options->model_path = value;
    options->is_bundled = name == "--bundled_program_path";
  } else if (name == "--method_name") {
    options->method_name = value;
  } else if (name == "--inputs") {
    split(value, &options->input_paths);
  } else if (name == "--data_path") {
    split(value, &options->data_paths);
  } else if (name == "--kernel_library" || name == "--backend_library") {
    split(value, &options->library_paths);
  } else if (name == "--testset_idx") {
    return parse_index("--testset_idx", value, &options->testset_idx);
  } else if (name == "--output_verification") {
    return parse_truth("--output_verification", value, &options->output_verification);
  } else if (name == "--rtol") {
    return parse_tolerance("--rtol", value, &options->rtol);
  } else if (name == "--atol") {
    return parse_tolerance("--atol", value, &options->atol);
  } else if (name == "--etdump_path") {
    options->etdump_path = value;
  } else if (name == "--etdump_buffer_size") {
    return parse_count("--etdump_buffer_size", value, &options->etdump_buffer_size);
  } else if (name == "--debug_output_path") {
    options->debug_output_path = value;
  } else if (name == "--debug_buffer_size") {
    return parse_count("--debug_buffer_size", value, &options->debug_buffer_size);
  } else if (name == "--num_executions") {
    return parse_count("--num_executions", value, &options->executions);
  } else if (name == "--num_threads") {
    return parse_count("--num_threads", value, &options->threads);
  } else if (name == "--max_instructions") {
    return parse_count("--max_instructions", value, &options->max_instructions);
  } else if (name == "--max_memory") {
    return parse_count("--max_memory", value, &options->max_memory);
  } else if (name == "--print_output") {
    return parse_print(value, &options->print);
  } else {
    std::fprintf(stderr, "executor_runner: unknown option '%s'; --help lists the options\n", name.c_str());
    return false;
  }
  return true;
}

}  // namespace

ParseResult parse_options(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    char* argument = argv[i];
    if (std::strcmp(argument, "--help") == 0 || std::strcmp(argument, "-h") == 0) {
      std::fputs(kHelp, stdout);
      return ParseResult::Help;
    }
    if (std::strcmp(argument, "--verify_digest") == 0) {
      options->verify_digest = true;
      continue;
    }
    if (std::strcmp(argument, "--list") == 0) {
      options->list = true;
      continue;
    }
    if (argument[0] != '-' && options->model_path.empty()) {
      options->model_path = argument;
      continue;
    }
    std::string name = argument;
    char* value = std::strchr(argument, '=');
    if (value) {
      name.resize(static_cast<size_t>(value - argument));
      ++value;
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      std::fprintf(stderr, "executor_runner: option '%s' is unknown or has no value; --help lists the options\n",
                   argument);
      return ParseResult::Wrong;
    }
    if (name.compare(0, 2, "--") != 0 && name[0] == '-') name.insert(0, "-");
    if (!set_option(name, value, options)) return ParseResult::Wrong;
  }
  if (options->model_path.empty()) {
    std::fprintf(stderr, "executor_runner: --model_path is missing\n%s", kHelp);
    return ParseResult::Wrong;
  }
  if (!options->debug_output_path.empty() && options->etdump_path.empty()) {
    std::fprintf(stderr,
                 "executor_runner: --debug_output_path needs --etdump_path, whose events refer to the values\n");
    return ParseResult::Wrong;
  }
  return ParseResult::Run;
}

}  // namespace rushlight
