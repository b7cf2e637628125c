#include <cmath>
#include <cstdint>
#include <new>
#include <string_view>

#include "rushlight/core/library.h"

namespace {

using namespace rushlight;

// One delegate: a chain of sines over `numel` elements.
struct Chain {
  uint32_t instructions;
  int64_t numel;
};

// Reads a text from its beginning.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool take(std::string_view expected) {
    if (text_.substr(0, expected.size()) != expected) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  // Sets `found` to the text before `end`, and skips both. Returns false if the text does not contain `end`.
  bool until(std::string_view end, std::string_view* found) {
    const size_t at = text_.find(end);
    if (at == std::string_view::npos) return false;
    *found = text_.substr(0, at);
    text_.remove_prefix(at + end.size());
    return true;
  }
  bool is_empty() const { return text_.empty(); }

 private:
  std::string_view text_;
};

// At most 15 digits, and "-1" for no debug handle.
bool parse(std::string_view text, int64_t* number) {
  if (text == "-1") {
    *number = -1;
    return true;
  }
  if (text.empty() || text.size() > 15) return false;
  *number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    *number = *number * 10 + (digit - '0');
  }
  return true;
}

class DemoBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               Span<const CompileSpec>) override {
    Reader reader({static_cast<const char*>(processed->data()), processed->size()});
    std::string_view count, version;
    int64_t instructions = 0;
    RL_REQUIRE(reader.until("version:", &count) && parse(count, &instructions) && reader.until("#", &version),
               InvalidProgram, "the payload does not start with the number of instructions and the version");
    RL_REQUIRE(version == "0", NotSupported, "the payload has version %.*s; this backend reads version 0",
               static_cast<int>(version.size()), version.data());
    // Each instruction needs more than 20 bytes.
    RL_REQUIRE(instructions > 0 && static_cast<uint64_t>(instructions) <= processed->size() / 20, InvalidProgram,
               "a payload of %zu bytes cannot have %lld instructions", processed->size(),
               static_cast<long long>(instructions));
    auto* chain = context.allocator->allocate_array<Chain>(1);
    RL_REQUIRE(chain, MemoryAllocationFailed, "no memory for a delegate");
    new (chain) Chain{static_cast<uint32_t>(instructions), -1};
    for (uint32_t i = 0; i < chain->instructions; ++i) RL_TRY(read(reader, i, chain));
    RL_REQUIRE(reader.is_empty(), InvalidProgram, "the payload has bytes after its last instruction");
    processed->Free();
    return static_cast<DelegateHandle*>(chain);
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle, Span<EValue* const> arguments) override {
    const Chain& chain = *static_cast<Chain*>(handle);
    RL_REQUIRE(arguments.size() == 2, InvalidArgument, "a chain of sines has 1 input and 1 output, not %zu arguments",
               arguments.size());
    for (const EValue* argument : arguments) {
      RL_REQUIRE(argument->is_tensor() && argument->to_tensor().scalar_type() == ScalarType::Float &&
                     argument->to_tensor().numel() == chain.numel,
                 InvalidArgument, "an argument is not a float32 tensor with %lld elements",
                 static_cast<long long>(chain.numel));
    }
    const auto* input = arguments[0]->to_tensor().const_data_ptr<float>();
    auto* output = arguments[1]->to_tensor().mutable_data_ptr<float>();
    for (int64_t i = 0; i < chain.numel; ++i) {
      float value = input[i];
      for (uint32_t step = 0; step < chain.instructions; ++step) value = std::sin(value);
      output[i] = value;
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle*) override {}

 private:
  static Error read(Reader& reader, uint32_t index, Chain* chain) {
    std::string_view op, numel, dtype, debug_handle;
    int64_t count = 0, handle = 0;
    RL_REQUIRE(reader.take("op:demo::") && reader.until(", numel:", &op) && reader.until(", dtype:", &numel) &&
                   reader.until("<debug_handle>", &dtype) && reader.until("#", &debug_handle) && parse(numel, &count) &&
                   count >= 0 && parse(debug_handle, &handle),
               InvalidProgram, "instruction %u is not complete", index);
    RL_REQUIRE(
        op == "aten.sin.default" && dtype == "torch.float32", NotSupported,
        "instruction %u is %.*s with dtype %.*s; this backend supports only aten.sin.default with dtype torch.float32",
        index, static_cast<int>(op.size()), op.data(), static_cast<int>(dtype.size()), dtype.data());
    RL_REQUIRE(chain->numel < 0 || chain->numel == count, InvalidProgram,
               "instruction %u has %lld elements, but the previous one has %lld", index, static_cast<long long>(count),
               static_cast<long long>(chain->numel));
    chain->numel = count;
    return Error::Ok;
  }
};

DemoBackend backend;
constexpr Backend kRows[] = {{"BackendWithCompilerDemo", &backend}};

}  // namespace

RUSHLIGHT_BACKEND_LIBRARY("demo", kRows);
