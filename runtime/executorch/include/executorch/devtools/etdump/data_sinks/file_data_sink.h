#pragma once

#include <cstdio>
#include <memory>

#include "executorch/devtools/etdump/data_sinks/data_sink_base.h"

namespace executorch {
namespace etdump {

// Writes data to a file, without gaps.
class FileDataSink : public DataSinkBase {
 public:
  // Returns AccessFailed if the file cannot be created or replaced.
  static runtime::Result<FileDataSink> create(const char* file_path) {
    std::FILE* file = std::fopen(file_path, "wb");
    if (!file) return runtime::Error::AccessFailed;
    return FileDataSink(file);
  }
  FileDataSink(FileDataSink&&) = default;
  FileDataSink& operator=(FileDataSink&&) = default;

  runtime::Result<size_t> write(const void* ptr, size_t size) override {
    if (!file_) return runtime::Error::AccessFailed;
    if (std::fwrite(ptr, 1, size, file_.get()) != size) return runtime::Error::Internal;
    used_ += size;
    return used_ - size;
  }
  size_t get_used_bytes() const override { return used_; }
  void close() { file_.reset(); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit FileDataSink(std::FILE* file) : file_(file) {}
  std::unique_ptr<std::FILE, Close> file_;
  size_t used_ = 0;
};

}  // namespace etdump
}  // namespace executorch
