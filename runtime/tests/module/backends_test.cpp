#include "rushlight/module/backends.h"

#include <string>
#include <vector>

#include "tests/support/loaded.h"

namespace rushlight::testing {
namespace {

class NoBackend final : public BackendInterface {
 public:
  explicit NoBackend(bool available) : available_(available) {}
  bool is_available() const override {
    if (!available_) fail(Error::NotSupported, "no licence");
    return available_;
  }
  Result<DelegateHandle*> init(BackendInitContext&, FreeableBuffer*, Span<const CompileSpec>) override {
    return fail(Error::NotSupported, "no");
  }
  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue* const>) override { return Error::Internal; }
  void destroy(DelegateHandle*) override {}

 private:
  bool available_;
};

ProgramSpec program_for(const std::vector<std::string>& ids) {
  ProgramSpec spec = add_program();
  for (const std::string& id : ids) spec.plans[0].delegates.push_back({id, 0, 0, {}});
  spec.inline_delegate_data = {{1}};
  return spec;
}

TEST(MissingBackends, AreNamedOnceWithWhatWouldProvideThem) {
  const std::vector<uint8_t> bytes = build(program_for({"QnnBackend", "Here", "Mine", "QnnBackend", "Off"}));
  const auto program = load_program(bytes);
  ASSERT_TRUE(program) << last_error_message();
  NoBackend here(true), off(false);
  const Backend table[] = {{"Here", &here}, {"Off", &off}};
  const auto missing = missing_backends(*program->program().method_meta("forward"), table);
  ASSERT_EQ(missing.size(), 3u);
  EXPECT_EQ(missing[0].id, "QnnBackend");
  EXPECT_NE(missing[0].provision.find("Qualcomm"), std::string::npos);
  EXPECT_EQ(missing[1].id, "Mine");
  EXPECT_NE(missing[1].provision.find("load_library"), std::string::npos);
  EXPECT_FALSE(missing[1].is_here);
  EXPECT_EQ(missing[2].id, "Off");
  EXPECT_TRUE(missing[2].is_here);
  EXPECT_EQ(missing[2].provision, "no licence");
}

TEST(MissingBackends, FailTheLoad) {
  const std::vector<uint8_t> bytes = build(program_for({"Mine", "Here"}));
  const auto program = load_program(bytes);
  ASSERT_TRUE(program) << last_error_message();
  NoBackend here(true);
  const Backend table[] = {{"Here", &here}};
  EXPECT_EQ(require_backends(*program->program().method_meta("forward"), table), Error::NotFound);
  const std::string message = last_error_message();
  EXPECT_EQ(message.find("method 'forward' needs backends that are missing here: Mine (a shared library"), 0u);
  EXPECT_EQ(message.find("Here"), std::string::npos);
}

}  // namespace
}  // namespace rushlight::testing
