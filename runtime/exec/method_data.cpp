#include "exec/method_data.h"

#include <cstring>

namespace rushlight {
namespace {

Error not_found(std::string_view key) {
  return fail(Error::NotFound, "'%.*s' must come from a data file (.ptd), but none is given",
              static_cast<int>(key.size()), key.data());
}

}  // namespace

Result<TensorLayout> MethodData::tensor_layout(std::string_view key) const {
  if (outside_) return outside_->tensor_layout(key);
  return not_found(key);
}

Result<FreeableBuffer> MethodData::data(std::string_view key) const {
  if (program_->has_named_data(key)) return program_->load_named_data(key);
  if (outside_) return outside_->data(key);
  return not_found(key);
}

Error MethodData::load_into(std::string_view key, void* buffer, size_t size) const {
  if (!program_->has_named_data(key)) return outside_ ? outside_->load_into(key, buffer, size) : not_found(key);
  RL_ASSIGN(const FreeableBuffer bytes, program_->load_named_data(key));
  RL_REQUIRE(size <= bytes.size(), InvalidArgument, "cannot read %zu bytes of '%.*s', which has %zu bytes", size,
             static_cast<int>(key.size()), key.data(), bytes.size());
  std::memcpy(buffer, bytes.data(), size);
  return Error::Ok;
}

uint32_t MethodData::size() const {
  return static_cast<uint32_t>(program_->num_named_data()) + (outside_ ? outside_->size() : 0);
}

const char* MethodData::key(uint32_t index) const {
  const auto own = static_cast<uint32_t>(program_->num_named_data());
  if (index >= own) return outside_->key(index - own);
  const auto name = program_->named_data_key(index);
  return name.ok() ? name->data() : "";
}

}  // namespace rushlight
