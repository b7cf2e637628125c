#include <gtest/gtest.h>

#include <vector>

#include "executorch/extension/memory_allocator/malloc_memory_allocator.h"
#include "executorch/extension/tensor/tensor.h"
#include "executorch/runtime/executor/program.h"
#include "tests/executorch/programs.h"

namespace executorch {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::Program;
using runtime::Result;
using runtime::Span;

TEST(ExecuTorchProgram, RefusesOtherBytes) {
  int loads = 0;
  EXPECT_EQ(Program::load(loader_of({1, 2, 3}, &loads).get()).error(), Error::InvalidArgument) << "too short";
  EXPECT_EQ(Program::load(loader_of(std::vector<uint8_t>(100), &loads).get()).error(), Error::InvalidProgram);
}

TEST(ExecuTorchMethod, RunsStepByStep) {
  int loads = 0;
  auto loader = loader_of(adding("aten::add", "out"), &loads);
  Result<Program> program = Program::load(loader.get());
  ASSERT_TRUE(program.ok());
  EXPECT_STREQ(*program->get_method_name(0), "forward");
  EXPECT_EQ(program->get_named_data_map().error(), Error::NotFound);
  extension::MallocMemoryAllocator allocator;
  runtime::MemoryManager without_planned(&allocator);
  EXPECT_EQ(program->load_method("forward", &without_planned).error(), Error::InvalidState);
  alignas(16) uint8_t planned[64];
  Span<uint8_t> buffers[] = {{planned, sizeof(planned)}};
  runtime::HierarchicalAllocator hierarchy({buffers, size_t{1}});
  runtime::MemoryManager memory(&allocator, &hierarchy);
  Result<Method> method = program->load_method("forward", &memory);
  ASSERT_TRUE(method.ok());
  const auto x = extension::make_tensor_ptr({1.0f, 2.0f});
  const EValue inputs[] = {x, x};
  ASSERT_EQ(method->set_inputs({inputs, size_t{2}}), Error::Ok);
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(method->step(), Error::Ok);
  EXPECT_TRUE(method->in_progress());
  EXPECT_EQ(method->step(), Error::EndOfMethod);
  EXPECT_EQ(method->reset_execution(), Error::Ok);
  EValue outputs[3];
  ASSERT_EQ(method->get_outputs(outputs, 3), Error::Ok);
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{2, 4}));
  EXPECT_TRUE(outputs[2].isNone());
  EXPECT_EQ(method->get_outputs(outputs, 0), Error::InvalidArgument);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->step(), Error::Ok) << "after a full run, the first step runs the first instruction";
  EXPECT_EQ(method->step(), Error::EndOfMethod);
}

}  // namespace
}  // namespace executorch
