#pragma once

#include <cstdint>

namespace rushlight {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
using DeviceIndex = int8_t;

// Where the elements of a tensor are. The runtime's tensors are in the memory of the CPU.
class Device {
 public:
  Device() = default;
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}  // NOLINT
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool operator==(const Device& other) const { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const { return !(*this == other); }

 private:
  DeviceType type_ = DeviceType::CPU;
  DeviceIndex index_ = -1;
};

}  // namespace rushlight
