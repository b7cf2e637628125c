#pragma once

#include "rushlight/core/device.h"

namespace executorch {
namespace runtime {
namespace etensor {
using ::rushlight::Device;
using ::rushlight::DeviceIndex;
using ::rushlight::DeviceType;
}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::rushlight::Device;
using ::rushlight::DeviceIndex;
using ::rushlight::DeviceType;
}  // namespace executor
}  // namespace torch
