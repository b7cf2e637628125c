// Runs a fuzz target with files, and with the files in folders: replay [--seconds N] [--seed N] PATH... With --seconds,
// each run mutates one of the files. If a run ends the process or takes more than ten seconds, its input is written to
// damaged.bin.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

constexpr size_t kMaxGrowth = 1 << 16;
constexpr unsigned kMaxSeconds = 10;

std::vector<uint8_t> running;

void keep_running() {
  if (std::FILE* file = std::fopen("damaged.bin", "wb")) {
    std::fwrite(running.data(), 1, running.size(), file);
    std::fclose(file);
  }
}

void end_slow_run(int) {
  keep_running();
  std::fprintf(stderr, "an input runs for more than %u seconds: damaged.bin\n", kMaxSeconds);
  std::_Exit(1);
}

void run(const std::vector<uint8_t>& bytes) {
  running = bytes;
  alarm(kMaxSeconds);
  LLVMFuzzerTestOneInput(running.data(), running.size());
  alarm(0);
}

std::vector<uint8_t> contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void read_all(const std::string& argument, std::vector<std::vector<uint8_t>>* inputs) {
  std::error_code error;
  if (!std::filesystem::is_directory(argument, error)) return inputs->push_back(contents(argument));
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argument, error)) {
    if (entry.is_regular_file(error)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) inputs->push_back(contents(path));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::vector<uint8_t>> inputs;
  double seconds = 0;
  uint64_t seed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      read_all(argument, &inputs);
    }
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_running);
  std::signal(SIGALRM, end_slow_run);
  for (const auto& input : inputs) run(input);
  size_t count = inputs.size();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::mt19937_64 random(seed);
  std::vector<uint8_t> changed;
  while (!inputs.empty() && std::chrono::steady_clock::now() < end) {
    const auto& input = inputs[random() % inputs.size()];
    changed = input;
    changed.resize(input.size() + kMaxGrowth);
    const auto number = static_cast<unsigned>(random());
    changed.resize(LLVMFuzzerCustomMutator(changed.data(), input.size(), changed.size(), number));
    run(changed);
    ++count;
  }
  std::printf("%zu inputs run\n", count);
  return count > 0 ? 0 : 1;
}
