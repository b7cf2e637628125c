// Runs a fuzz target over files, and the files of folders: replay [--seconds N] [--seed N] PATH[:BEGIN:END]...
// With --seconds, every run is of one of them damaged at random within [BEGIN, END); one that ends the process is
// written to damaged.bin.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

struct Input {
  std::vector<uint8_t> bytes;
  size_t begin, end;  // what is damaged
};

std::vector<uint8_t> running;

void keep_running() {
  if (std::FILE* file = std::fopen("damaged.bin", "wb")) {
    std::fwrite(running.data(), 1, running.size(), file);
    std::fclose(file);
  }
}

void read(const std::filesystem::path& path, size_t begin, size_t end, std::vector<Input>* inputs) {
  std::ifstream file(path, std::ios::binary);
  Input input{{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, begin, end};
  input.end = std::min(input.end, input.bytes.size());
  input.begin = std::min(input.begin, input.end);
  inputs->push_back(std::move(input));
}

void read_all(const std::string& argument, std::vector<Input>* inputs) {
  std::error_code error;
  if (std::filesystem::is_directory(argument, error)) {
    for (const auto& entry : std::filesystem::directory_iterator(argument, error)) {
      if (entry.is_regular_file(error)) read(entry.path(), 0, SIZE_MAX, inputs);
    }
    return;
  }
  const size_t last = argument.rfind(':'), first = last == 0 ? last : argument.rfind(':', last - 1);
  if (last == std::string::npos || first == std::string::npos) return read(argument, 0, SIZE_MAX, inputs);
  read(argument.substr(0, first), std::strtoull(argument.c_str() + first + 1, nullptr, 10),
       std::strtoull(argument.c_str() + last + 1, nullptr, 10), inputs);
}

// Bits, bytes, words, and runs of other bytes of the input.
void damage(const Input& input, std::mt19937_64& random) {
  running = input.bytes;
  const size_t length = input.end - input.begin;
  if (length < 8) return;
  for (uint64_t times = random() % 3 + 1; times > 0; --times) {
    static constexpr uint32_t words[] = {0, 1, 2, 7, 255, 65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    uint8_t* const at = running.data() + input.begin + random() % (length - 7);
    uint32_t word;
    std::memcpy(&word, at, sizeof(word));
    switch (random() % 6) {
      case 0:
        *at ^= static_cast<uint8_t>(1u << random() % 8);
        continue;
      case 1:
        *at = static_cast<uint8_t>(random());
        continue;
      case 2:
        word = words[random() % (sizeof(words) / sizeof(words[0]))];
        break;
      case 3:
        word += static_cast<uint32_t>(random() % 17) - 8;
        break;
      case 4:
        word = static_cast<uint32_t>(random());
        break;
      default:
        std::memmove(at, input.bytes.data() + input.begin + random() % (length - 7), 1 + random() % 8);
        continue;
    }
    std::memcpy(at, &word, sizeof(word));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Input> inputs;
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
  size_t count = 0;
  for (const Input& input : inputs) {
    running = input.bytes;
    LLVMFuzzerTestOneInput(running.data(), running.size());
    ++count;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::mt19937_64 random(seed);
  while (!inputs.empty() && std::chrono::steady_clock::now() < end) {
    damage(inputs[random() % inputs.size()], random);
    LLVMFuzzerTestOneInput(running.data(), running.size());
    ++count;
  }
  std::printf("%zu inputs run\n", count);
  return count > 0 ? 0 : 1;
}
