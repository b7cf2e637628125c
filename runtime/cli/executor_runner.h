#pragma once

namespace rushlight {

// Loads a .pte file, runs one of its methods and prints the outputs, as the command line says. Returns the exit status:
// 0, 1 after an error, 2 for a wrong command line.
int executor_runner(int argc, char** argv);

}  // namespace rushlight
