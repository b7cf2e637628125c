#pragma once

namespace rushlight {

// Loads a .pte file, runs one of its methods and prints the outputs, according to the command line. Returns the exit
// status: 0 for success, 1 for an error, 2 for a wrong command line.
int executor_runner(int argc, char** argv);

}  // namespace rushlight
