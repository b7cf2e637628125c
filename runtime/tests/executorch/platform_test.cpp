#include "executorch/runtime/platform/platform.h"

#include <gtest/gtest.h>

#include <string>

#include "executorch/extension/module/module.h"
#include "executorch/runtime/executor/program.h"
#include "executorch/runtime/platform/runtime.h"
#include "tests/executorch/programs.h"

namespace executorch {
namespace {

using extension::Module;
using runtime::Error;
using runtime::Program;

std::string logged;

TEST(ExecuTorchPlatform, LogsThroughTheRegisteredFunction) {
  const runtime::PalImpl before = *runtime::get_pal_impl();
  runtime::register_pal(runtime::PalImpl::create(
      [](et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t, const char* message,
         size_t length) { logged = std::string(1, static_cast<char>(level)) + " " + std::string(message, length); },
      __FILE__));
  ET_LOG(Info, "%d methods", 3);
  EXPECT_EQ(logged, "I 3 methods");
  ET_LOG(Debug, "below the least level");
  EXPECT_EQ(logged, "I 3 methods");
  int loads = 0;
  Module module(loader_of(adding("aten::add", "out"), &loads));
  ASSERT_EQ(module.load_forward(), Error::Ok);
  EXPECT_EQ(logged, "I 3 methods") << "the runtime's own debug messages are below the least level, too";
  EXPECT_FALSE(Program::load(loader_of({1, 2, 3}, &loads).get()).ok());
  EXPECT_EQ(logged.substr(0, 17), "E InvalidProgram:") << logged;
  runtime::register_pal(before);
}

}  // namespace
}  // namespace executorch
