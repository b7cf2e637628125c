#pragma once

#include <string>
#include <vector>

namespace rushlight {

enum class PrintMode { Summary, All, None };

struct Options {
  std::string model_path;   // a .pte or .bpte file
  bool is_bundled = false;  // whether the file must be a .bpte file
  std::string method_name = "forward";
  std::vector<const char*> input_paths;
  std::vector<const char*> data_paths;
  std::vector<const char*> library_paths;
  long testset_idx = -1;  // test case of a .bpte file; -1: all test cases
  bool output_verification = true;
  double rtol = 1e-5, atol = 1e-8;
  std::string etdump_path;        // empty: no event trace
  std::string debug_output_path;  // empty: no values in the event trace
  long etdump_buffer_size = 16 << 20;
  long debug_buffer_size = 16 << 20;
  long executions = 1;
  long threads = 0;                           // 0: the default
  long max_instructions = 0, max_memory = 0;  // 0: the default
  PrintMode print = PrintMode::Summary;
  bool list = false;
  bool verify_digest = false;
};

enum class ParseResult { Run, Help, Wrong };

// Reads the command line. Prints a message if it is wrong, or the help text for --help.
ParseResult parse_options(int argc, char** argv, Options* options);

}  // namespace rushlight
