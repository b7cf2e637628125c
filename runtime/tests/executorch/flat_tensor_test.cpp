#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "executorch/extension/data_loader/file_data_loader.h"
#include "executorch/extension/flat_tensor/flat_tensor_data_map.h"
#include "executorch/extension/flat_tensor/serialize/serialize.h"
#include "executorch/extension/tensor/tensor.h"

namespace executorch {
namespace {

using runtime::Error;

TEST(ExecuTorchFlatTensor, SavesTensors) {
  const std::string path = ::testing::TempDir() + "executorch_saved.ptd";
  const auto image = extension::make_tensor_ptr({1, 2, 1, 2}, std::vector<float>{1, 2, 3, 4}, {0, 2, 3, 1});
  const auto number = extension::make_tensor_ptr({}, std::vector<int64_t>{7});
  const auto empty = extension::make_tensor_ptr({0, 3}, std::vector<float>{});
  const std::map<std::string, aten::Tensor> tensors = {{"c.weight", *image}, {"n", *number}, {"none", *empty}};
  for (const size_t alignment : {1, 16, 4096}) {
    ASSERT_EQ(extension::flat_tensor::save_ptd(path, tensors, alignment), Error::Ok);
    auto loader = extension::FileDataLoader::from(path.c_str());
    ASSERT_TRUE(loader.ok());
    const auto file = extension::FlatTensorDataMap::load(&*loader);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(*file->get_num_keys(), 3u);
    for (const auto& [key, tensor] : tensors) {
      const auto layout = file->get_tensor_layout(key);
      ASSERT_TRUE(layout.ok()) << key;
      EXPECT_EQ(layout->scalar_type(), tensor.scalar_type());
      EXPECT_TRUE(std::equal(layout->sizes().begin(), layout->sizes().end(), tensor.sizes().begin()));
      EXPECT_TRUE(std::equal(layout->dim_order().begin(), layout->dim_order().end(), tensor.dim_order().begin()));
      const auto data = file->get_data(key);
      ASSERT_TRUE(data.ok()) << key;
      ASSERT_EQ(data->size(), tensor.nbytes());
      const auto* expected = static_cast<const uint8_t*>(tensor.const_data_ptr());
      EXPECT_TRUE(std::equal(expected, expected + tensor.nbytes(), static_cast<const uint8_t*>(data->data()))) << key;
    }
  }
  EXPECT_EQ(extension::flat_tensor::save_ptd(path, tensors, 12), Error::InvalidArgument);
  EXPECT_EQ(extension::flat_tensor::save_ptd(path + "/no/folder", tensors, 16), Error::AccessFailed);
  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  EXPECT_EQ(extension::flat_tensor::save_ptd(closed, tensors, 16), Error::AccessFailed);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace executorch
