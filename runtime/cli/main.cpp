#include "cli/executor_runner.h"

int main(int argc, char** argv) { return rushlight::executor_runner(argc, argv); }
