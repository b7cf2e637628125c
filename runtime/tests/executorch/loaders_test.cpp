#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "executorch/extension/data_loader/buffer_data_loader.h"
#include "executorch/extension/data_loader/file_data_loader.h"
#include "executorch/extension/data_loader/mmap_data_loader.h"

namespace executorch {
namespace {

using runtime::Error;
using runtime::Result;

TEST(ExecuTorchLoaders, AlignWhatTheyLoad) {
  using extension::FileDataLoader;
  const std::string path = ::testing::TempDir() + "executorch_loader.bin";
  std::ofstream(path, std::ios::binary) << "0123456789";
  const runtime::DataLoader::SegmentInfo info(runtime::DataLoader::SegmentInfo::Type::Program);
  for (const size_t alignment : {size_t{1}, size_t{64}, size_t{256}, size_t{4096}}) {
    const Result<FileDataLoader> loader = FileDataLoader::from(path.c_str(), alignment);
    ASSERT_TRUE(loader.ok());
    const Result<runtime::FreeableBuffer> data = loader->load(2, 5, info);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data->data()) % alignment, 0u);
    EXPECT_EQ(std::string(static_cast<const char*>(data->data()), data->size()), "23456");
    EXPECT_EQ(loader->load(2, 9, info).error(), Error::InvalidArgument);
    EXPECT_EQ(loader->load(11, 0, info).error(), Error::InvalidArgument);
    EXPECT_TRUE(loader->load(10, 0, info).ok());
  }
  EXPECT_EQ(FileDataLoader::from(path.c_str(), 96).error(), Error::InvalidArgument);
  EXPECT_EQ(FileDataLoader::from(path.c_str(), 0).error(), Error::InvalidArgument);
  std::remove(path.c_str());
}

void expect_ranges_are_checked(const runtime::DataLoader& loader) {
  const runtime::DataLoader::SegmentInfo info(runtime::DataLoader::SegmentInfo::Type::Program);
  char buffer[10];
  EXPECT_EQ(loader.load_into(4, 6, info, buffer), Error::Ok);
  EXPECT_EQ(loader.load_into(4, 7, info, buffer), Error::InvalidArgument);
  EXPECT_EQ(loader.load(11, 0, info).error(), Error::InvalidArgument);
  EXPECT_EQ(loader.load(1, SIZE_MAX, info).error(), Error::InvalidArgument);
}

TEST(ExecuTorchLoaders, RefuseBytesOutsideOfTheFile) {
  const std::string path = ::testing::TempDir() + "executorch_ranges.bin";
  std::ofstream(path, std::ios::binary) << "0123456789";
  expect_ranges_are_checked(*extension::FileDataLoader::from(path.c_str()));
  expect_ranges_are_checked(*extension::MmapDataLoader::from(path.c_str()));
  expect_ranges_are_checked(extension::BufferDataLoader("0123456789", 10));
  std::remove(path.c_str());
}

TEST(ExecuTorchLoaders, RefuseNullPaths) {
  EXPECT_EQ(extension::FileDataLoader::from(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(extension::MmapDataLoader::from(nullptr).error(), Error::InvalidArgument);
}

TEST(ExecuTorchLoaders, RefuseNullMemory) {
  const std::string path = ::testing::TempDir() + "executorch_memory.bin";
  std::ofstream(path, std::ios::binary) << "0123456789";
  const runtime::DataLoader::SegmentInfo info(runtime::DataLoader::SegmentInfo::Type::Program);
  const auto file = extension::FileDataLoader::from(path.c_str());
  EXPECT_EQ(file->load_into(4, 6, info, nullptr), Error::InvalidArgument);
  EXPECT_EQ(extension::MmapDataLoader::from(path.c_str())->load_into(4, 6, info, nullptr), Error::InvalidArgument);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace executorch
