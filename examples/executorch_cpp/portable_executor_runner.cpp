// Runs a method of a program or of a bundled program, and prints its outputs.
//
//   portable_executor_runner --model_path=FILE [--method=NAME] [--testset_idx=N] [--num_executions=N] [--etdump=FILE]
//
// The inputs are tensors of ones. With --testset_idx they are those of a test case, and the outputs are verified.
#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;
using executorch::extension::BufferCleanup;
using executorch::extension::BufferDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

// Returns the text after --name= among the arguments, or null.
const char* flag(int argc, char** argv, const char* name) {
  const std::string prefix = std::string("--") + name + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], prefix.c_str(), prefix.size()) == 0) return argv[i] + prefix.size();
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  const char* path = flag(argc, argv, "model_path");
  ET_CHECK_MSG(path, "--model_path=FILE is missing");
  std::ifstream stream(path, std::ios::binary);
  ET_CHECK_MSG(stream, "%s cannot be read", path);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  auto* file = static_cast<char*>(std::aligned_alloc(16, (text.size() + 15) / 16 * 16));
  ET_CHECK(file);
  std::memcpy(file, text.data(), text.size());

  const void* program_data = nullptr;
  size_t program_size = 0;
  ET_CHECK(executorch::bundled_program::get_program_data(file, text.size(), &program_data, &program_size) == Error::Ok);
  BufferDataLoader loader(program_data, program_size);
  Result<Program> program = Program::load(&loader);
  ET_CHECK_MSG(program.ok(), "%s is not a program", path);
  const char* name = flag(argc, argv, "method");
  if (!name) name = *program->get_method_name(0);

  const auto meta = program->method_meta(name);
  ET_CHECK_MSG(meta.ok(), "there is no method %s", name);
  std::vector<std::unique_ptr<uint8_t[]>> buffers;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const auto size = static_cast<size_t>(*meta->memory_planned_buffer_size(i));
    buffers.push_back(std::make_unique<uint8_t[]>(size));
    spans.emplace_back(buffers.back().get(), size);
  }
  HierarchicalAllocator planned_memory({spans.data(), spans.size()});
  MallocMemoryAllocator method_allocator;
  MallocMemoryAllocator temp_allocator;
  MemoryManager memory_manager(&method_allocator, &planned_memory, &temp_allocator);
  ETDumpGen etdump;
  Result<Method> method = program->load_method(name, &memory_manager, &etdump);
  ET_CHECK_MSG(method.ok(), "method %s cannot be loaded: 0x%x", name, static_cast<unsigned>(method.error()));

  const char* test = flag(argc, argv, "testset_idx");
  std::unique_ptr<BufferCleanup> inputs;
  if (test) {
    const auto index = static_cast<size_t>(std::atoi(test));
    ET_CHECK(executorch::bundled_program::load_bundled_input(*method, file, index) == Error::Ok);
  } else {
    auto prepared = executorch::extension::prepare_input_tensors(*method);
    ET_CHECK_MSG(prepared.ok(), "no inputs: 0x%x", static_cast<unsigned>(prepared.error()));
    inputs = std::make_unique<BufferCleanup>(std::move(*prepared));
  }
  const char* count = flag(argc, argv, "num_executions");
  for (int i = 0; i < (count ? std::atoi(count) : 1); ++i) {
    const Error status = method->execute();
    ET_CHECK_MSG(status == Error::Ok, "method %s fails: 0x%x", name, static_cast<unsigned>(status));
  }

  std::vector<EValue> outputs(method->outputs_size());
  ET_CHECK(method->get_outputs(outputs.data(), outputs.size()) == Error::Ok);
  std::cout << executorch::extension::evalue_edge_items(100);
  for (size_t i = 0; i < outputs.size(); ++i) std::cout << "Output " << i << ": " << outputs[i] << std::endl;
  if (test) {
    const auto index = static_cast<size_t>(std::atoi(test));
    const Error same = executorch::bundled_program::verify_method_outputs(*method, file, index, 1e-3, 1e-5);
    ET_CHECK_MSG(same == Error::Ok, "the outputs differ from those of test case %zu", index);
    std::cout << "Test case " << index << " passed." << std::endl;
  }
  const char* dump = flag(argc, argv, "etdump");
  const ETDumpResult result = etdump.get_etdump_data();
  if (dump && result.buf) std::ofstream(dump, std::ios::binary).write(static_cast<char*>(result.buf), result.size);
  std::free(result.buf);
  std::free(file);
  return 0;
}
