// Reads that fail or are interrupted: they give an error or the right bytes, and the next call works.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rushlight/module/defaults.h"
#include "rushlight/module/file_loader.h"
#include "rushlight/module/module.h"

#if defined(__linux__) && defined(__GLIBC__)
#include <sys/mman.h>
#include <sys/syscall.h>

namespace {

// The behavior of the next system calls.
int interrupted_calls = 0;    // calls that fail with EINTR before one succeeds
size_t failing_offset = 0;    // the first byte that cannot be read, if failing_error is not 0
int failing_error = 0;        // errno of a failing call
size_t max_bytes = SIZE_MAX;  // maximum bytes per call

bool is_interrupted() {
  if (interrupted_calls == 0) return false;
  --interrupted_calls;
  errno = EINTR;
  return true;
}

}  // namespace

// These functions replace the C library's functions in this program.
extern "C" ssize_t pread(int file, void* buffer, size_t size, off_t offset) {
  if (is_interrupted()) return -1;
  if (failing_error != 0) {
    const auto at = static_cast<size_t>(offset);
    if (at >= failing_offset) {
      errno = failing_error;
      return -1;
    }
    size = std::min(size, failing_offset - at);
  }
  return ::syscall(SYS_pread64, file, buffer, std::min(size, max_bytes), offset);
}

extern "C" int open(const char* path, int flags, ...) {
  if (is_interrupted()) return -1;
  va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" int madvise(void* address, size_t size, int advice) noexcept {
  if (is_interrupted()) return -1;
  return static_cast<int>(::syscall(SYS_madvise, address, size, advice));
}

namespace rushlight {
namespace {

std::string program_path() { return std::string(RUSHLIGHT_TEST_DATA) + "/programs/0.1.0/image-kernels.pte"; }

std::vector<uint8_t> contents(const std::string& path) {
  std::vector<uint8_t> bytes;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr);
  if (file == nullptr) return bytes;
  uint8_t buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof(buffer), file)) {
    bytes.insert(bytes.end(), buffer, buffer + count);
  }
  std::fclose(file);
  return bytes;
}

// A copy of a file that is removed after the test. Each test starts with system calls that work.
class Reading : public ::testing::Test {
 protected:
  void SetUp() override {
    bytes_.resize(5 * 4096 + 17);
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<uint8_t>(i * 7);
    const int file = ::mkstemp(path_);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::write(file, bytes_.data(), bytes_.size()), static_cast<ssize_t>(bytes_.size()));
    ::close(file);
  }
  void TearDown() override {
    interrupted_calls = failing_error = 0;
    max_bytes = SIZE_MAX;
    ::unlink(path_);
  }
  // Overwrites the file in place.
  void write_file(const std::vector<uint8_t>& bytes) {
    std::FILE* file = std::fopen(path_, "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
  }
  void expect_whole(DataLoader& loader) {
    const auto buffer = loader.load(0, bytes_.size(), SegmentKind::Constant);
    ASSERT_TRUE(buffer.ok()) << last_error_message();
    EXPECT_EQ(std::memcmp(buffer->data(), bytes_.data(), bytes_.size()), 0);
  }

  std::vector<uint8_t> bytes_;
  char path_[40] = "/tmp/rushlight_test_XXXXXX";
};

TEST_F(Reading, SignalsInterruptCalls) {
  interrupted_calls = 3;
  const auto file = FileDataLoader::open(path_);
  ASSERT_TRUE(file.ok()) << last_error_message();
  EXPECT_EQ(interrupted_calls, 0);
  interrupted_calls = 3;
  max_bytes = 100;
  expect_whole(**file);
  EXPECT_EQ(interrupted_calls, 0);
  const auto mapped = MmapDataLoader::open(path_);
  ASSERT_TRUE(mapped.ok()) << last_error_message();
  interrupted_calls = 3;
  expect_whole(**mapped);
  std::vector<uint8_t> copy(bytes_.size());
  interrupted_calls = 3;
  EXPECT_EQ((*mapped)->load_into(0, copy.size(), SegmentKind::Mutable, copy.data()), Error::Ok);
  EXPECT_EQ(copy, bytes_);
}

TEST_F(Reading, ADiskFailsInTheMiddle) {
  const auto file = FileDataLoader::open(path_);
  ASSERT_TRUE(file.ok()) << last_error_message();
  failing_error = EIO;
  failing_offset = 5000;
  EXPECT_EQ((*file)->load(0, bytes_.size(), SegmentKind::Constant).error(), Error::AccessFailed);
  EXPECT_NE(std::strstr(last_error_message(), "fails at byte 5000: Input/output error"), nullptr)
      << last_error_message();
  EXPECT_TRUE((*file)->load(0, 5000, SegmentKind::Constant).ok());
  failing_error = 0;
  expect_whole(**file);
}

TEST_F(Reading, AProgramOnADiskThatFails) {
  const std::vector<uint8_t> program = contents(program_path());
  for (const size_t offset : {size_t{0}, size_t{30}, program.size() / 2, program.size() - 1}) {
    failing_error = EIO;
    failing_offset = offset;
    const auto loaded = LoadedProgram::from_file(program_path().c_str(), LoadedProgram::Mode::File);
    EXPECT_EQ(loaded.error(), Error::AccessFailed) << offset << ": " << last_error_message();
    failing_error = 0;
    EXPECT_TRUE(LoadedProgram::from_file(program_path().c_str(), LoadedProgram::Mode::File).ok());
  }
}

#if defined(MADV_POPULATE_READ)
bool reports_failing_pages() {
  void* page = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool knows = ::madvise(page, 1, MADV_POPULATE_READ) == 0;
  ::munmap(page, 1);
  return knows;
}

// A page after the end of a file cannot be read: the signal is the same as for a failing disk.
TEST_F(Reading, AMappedFileFailsInTheMiddle) {
  if (!reports_failing_pages()) GTEST_SKIP() << "the system cannot report pages that fail";
  for (const MlockConfig lock : {MlockConfig::NoMlock, MlockConfig::UseMlockIgnoreErrors}) {
    const auto mapped = MmapDataLoader::open(path_, lock);
    ASSERT_TRUE(mapped.ok()) << last_error_message();
    ASSERT_EQ(::truncate(path_, 2 * 4096), 0);
    for (const auto& [offset, size] : {std::pair<size_t, size_t>{0, bytes_.size()}, {4096, 3 * 4096}, {9000, 1}}) {
      EXPECT_EQ((*mapped)->load(offset, size, SegmentKind::Constant).error(), Error::AccessFailed);
      const std::string start = "cannot read " + std::to_string(size) + " bytes at offset " + std::to_string(offset);
      EXPECT_EQ(std::string(last_error_message()).substr(0, start.size()), start);
    }
    const auto rest = (*mapped)->load(100, 8092, SegmentKind::Constant);
    ASSERT_TRUE(rest.ok()) << last_error_message();
    EXPECT_EQ(std::memcmp(rest->data(), bytes_.data() + 100, 8092), 0);
    write_file(bytes_);
    expect_whole(**mapped);
  }
}

// The pages of the program's tables, or of its delegate, cannot be read.
TEST_F(Reading, AMappedProgramFailsInTheMiddle) {
  if (!reports_failing_pages()) GTEST_SKIP() << "the system cannot report pages that fail";
  const std::vector<uint8_t> program = contents(std::string(RUSHLIGHT_TEST_DATA) + "/programs/0.1.0/rows-xnnpack.pte");
  ASSERT_GT(program.size(), size_t{4096});
  Environment environment;
  environment.kernels = default_kernels();
  environment.backends = default_backends();
  const auto load_from = [&](DataLoader* loader) -> Error {
    RL_ASSIGN(const auto loaded, LoadedProgram::from_loader(loader));
    return LoadedMethod::load(loaded, "forward", environment).error();
  };
  for (const off_t left : {off_t{0}, off_t{4096}}) {
    write_file(program);
    const auto mapped = MmapDataLoader::open(path_);
    ASSERT_TRUE(mapped.ok()) << last_error_message();
    ASSERT_EQ(::truncate(path_, left), 0);
    EXPECT_EQ(load_from(mapped->get()), Error::AccessFailed) << left;
    write_file(program);
    EXPECT_EQ(load_from(mapped->get()), Error::Ok) << last_error_message();
  }
}
#endif

TEST_F(Reading, APipeIsNoProgram) {
  ::unlink(path_);
  ASSERT_EQ(::mkfifo(path_, 0600), 0);  // no process writes to it
  EXPECT_EQ(FileDataLoader::open(path_).error(), Error::AccessFailed);
  EXPECT_NE(std::strstr(last_error_message(), "is not a regular file"), nullptr) << last_error_message();
}

}  // namespace
}  // namespace rushlight
#endif
