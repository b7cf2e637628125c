#pragma once

#include "rushlight/core/named_data.h"
#include "rushlight/program/program.h"

namespace rushlight {

// Combines the named data of a program with a map of data outside of the program. A lookup searches the program first.
class MethodData final : public NamedDataMap {
 public:
  // `outside` may be null.
  MethodData(const Program* program, const NamedDataMap* outside) : program_(program), outside_(outside) {}
  Result<TensorLayout> tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> data(std::string_view key) const override;
  Error load_into(std::string_view key, void* buffer, size_t size) const override;
  uint32_t size() const override;
  const char* key(uint32_t index) const override;

  const NamedDataMap* outside() const { return outside_; }

 private:
  const Program* program_;
  const NamedDataMap* outside_;
};

}  // namespace rushlight
