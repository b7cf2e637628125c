#include "module/files.h"

namespace rushlight {

Result<FreeableBuffer> map_file(int file, size_t offset, size_t size, MlockConfig) {
  return read_file(file, offset, size);
}

}  // namespace rushlight
