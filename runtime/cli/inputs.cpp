#include "cli/inputs.h"

#include <cstring>

#include "rushlight/module/file_loader.h"

namespace rushlight {
Error InputFiles::set(Method& method, const std::vector<const char*>& paths) {
  size_t next = 0;
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    if (!method.get_input(i).is_tensor()) continue;
    const char* path = nullptr;
    if (!paths.empty()) {
      RL_REQUIRE(next < paths.size(), InvalidArgument, "%zu input files are given, but there are more tensor inputs",
                 paths.size());
      path = paths[next++];
    }
    RL_TRY(set_one(method, i, path));
  }
  RL_REQUIRE(next == paths.size(), InvalidArgument, "%zu input files are given, but there are only %zu tensor inputs",
             paths.size(), next);
  return Error::Ok;
}

Error InputFiles::set_one(Method& method, size_t index, const char* path) {
  RL_ASSIGN(const TensorInfo info, method.meta().input_tensor_meta(index));
  std::vector<SizesType> sizes(info.sizes.begin(), info.sizes.end());
  const std::vector<DimOrderType> order(info.dim_order.begin(), info.dim_order.end());
  if (path == nullptr) {
    TensorPtr elements = ones(sizes, info.dtype);
    if (elements == nullptr) {  // ones() does not support complex numbers and some other types: these inputs are zeros
      elements = empty(sizes, info.dtype);
      if (elements == nullptr) return Error::MemoryAllocationFailed;
      std::memset(elements->mutable_data_ptr(), 0, elements->nbytes());
    }
    return set_elements(method, index, std::move(elements), order);
  }
  RL_ASSIGN(const auto loader, FileDataLoader::open(path));
  RL_ASSIGN(const size_t nbytes, loader->size());
  if (info.dynamism != ShapeDynamism::STATIC && !sizes.empty() && nbytes < info.nbytes) {
    const size_t row = info.nbytes / static_cast<size_t>(sizes[0]);
    if (row > 0 && nbytes % row == 0) sizes[0] = static_cast<SizesType>(nbytes / row);
  }
  TensorPtr elements = empty(sizes, info.dtype);
  if (elements == nullptr) return Error::MemoryAllocationFailed;
  RL_REQUIRE(nbytes == elements->nbytes(), InvalidArgument, "'%.200s' has %zu bytes, but input %zu needs %zu bytes",
             path, nbytes, index, info.nbytes);
  RL_TRY(loader->load_into(0, nbytes, SegmentKind::External, elements->mutable_data_ptr()));
  return set_elements(method, index, std::move(elements), order);
}

Error InputFiles::set_elements(Method& method, size_t index, TensorPtr elements,
                               const std::vector<DimOrderType>& order) {
  const auto sizes = elements->sizes();
  const TensorPtr input =
      make_tensor_ptr({sizes.begin(), sizes.end()}, elements->mutable_data_ptr(), order, {}, elements->scalar_type());
  if (input == nullptr) return Error::InvalidProgram;
  elements_.push_back(std::move(elements));
  return method.set_input(index, EValue(*input));
}

}  // namespace rushlight
