#include "c/data_files.h"

namespace rushlight {

Result<std::shared_ptr<LoadedData>> load_data_files(Span<const char* const> paths) {
  return LoadedData::from_files(paths);
}

}  // namespace rushlight
