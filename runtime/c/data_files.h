#pragma once

#include <memory>

#include "rushlight/module/module.h"

namespace rushlight {

// Loads data files (.ptd). Returns the errors of LoadedData::from_files(). The WebAssembly module has a version of this
// function that fails, so that it does not contain the reader of data files.
Result<std::shared_ptr<LoadedData>> load_data_files(Span<const char* const> paths);

}  // namespace rushlight
