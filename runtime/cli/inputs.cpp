#include "cli/inputs.h"

#include <cstring>

#include "rushlight/module/file_loader.h"

namespace rushlight {
namespace {

template <typename T>
void fill_ones(uint8_t* data, size_t nbytes) {
  const T one = static_cast<T>(1.0f);
  for (size_t i = 0; i + sizeof(T) <= nbytes; i += sizeof(T)) std::memcpy(data + i, &one, sizeof(T));
}

// Ones for real types; zero bytes for the others.
void fill_ones(ScalarType dtype, uint8_t* data, size_t nbytes) {
  switch (dtype) {
    case ScalarType::Float:
      return fill_ones<float>(data, nbytes);
    case ScalarType::Double:
      return fill_ones<double>(data, nbytes);
    case ScalarType::Half:
      return fill_ones<Half>(data, nbytes);
    case ScalarType::BFloat16:
      return fill_ones<BFloat16>(data, nbytes);
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool:
      return fill_ones<uint8_t>(data, nbytes);
    case ScalarType::Short:
    case ScalarType::UInt16:
      return fill_ones<int16_t>(data, nbytes);
    case ScalarType::Int:
    case ScalarType::UInt32:
      return fill_ones<int32_t>(data, nbytes);
    case ScalarType::Long:
    case ScalarType::UInt64:
      return fill_ones<int64_t>(data, nbytes);
    default:
      std::memset(data, 0, nbytes);
  }
}

}  // namespace

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
  const size_t dim = info.sizes.size();
  std::vector<SizesType> sizes(info.sizes.begin(), info.sizes.end());
  std::vector<StridesType> strides(dim);
  auto& memory = memory_.emplace_back(new uint8_t[info.nbytes + 1]);
  size_t nbytes = info.nbytes;
  if (path) {
    RL_ASSIGN(const auto loader, FileDataLoader::open(path));
    RL_ASSIGN(nbytes, loader->size());
    if (info.dynamism != ShapeDynamism::Static && dim > 0 && nbytes < info.nbytes) {
      const size_t row = info.nbytes / static_cast<size_t>(sizes[0]);
      if (row > 0 && nbytes % row == 0) sizes[0] = static_cast<SizesType>(nbytes / row);
    }
    const size_t expected = static_cast<size_t>(checked_numel({sizes.data(), dim})) * element_size(info.dtype);
    RL_REQUIRE(nbytes == expected, InvalidArgument, "'%.200s' has %zu bytes, but input %zu takes %zu", path, nbytes,
               index, info.nbytes);
    RL_TRY(loader->load_into(0, nbytes, SegmentKind::External, memory.get()));
  } else {
    fill_ones(info.dtype, memory.get(), nbytes);
  }
  strides_from_dim_order({sizes.data(), dim}, info.dim_order.data(), strides.data());
  TensorImpl tensor;
  tensor.data = memory.get();
  tensor.sizes = sizes.data();
  tensor.strides = strides.data();
  tensor.dim_order = info.dim_order.data();
  tensor.numel = checked_numel({sizes.data(), dim});
  tensor.capacity = nbytes;
  tensor.dtype = info.dtype;
  tensor.dim = static_cast<uint8_t>(dim);
  return method.set_input(index, EValue(&tensor));
}

}  // namespace rushlight
