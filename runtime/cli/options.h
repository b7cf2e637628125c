#pragma once

#include <string>
#include <vector>

namespace rushlight {

enum class PrintMode { Summary, All, None };

struct Options {
  std::string model_path;
  std::string method_name = "forward";
  std::vector<const char*> input_paths;
  std::vector<const char*> data_paths;
  std::vector<const char*> library_paths;
  long executions = 1;
  long threads = 0;  // 0: the default
  PrintMode print = PrintMode::Summary;
  bool list = false;
};

enum class ParseResult { Run, Help, Wrong };

// Reads the command line. Prints an error, or the help.
ParseResult parse_options(int argc, char** argv, Options* options);

}  // namespace rushlight
