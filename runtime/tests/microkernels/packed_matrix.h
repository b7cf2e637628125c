#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "microkernels/gemm/f32_panels.h"

namespace rushlight::microkernels {

// A matrix b [k, n], packed in panels and aligned as in a plan.
class PackedMatrix {
 public:
  PackedMatrix(const microkernels::F32Microkernels& kernels, const std::vector<float>& b, int64_t k, int64_t n)
      : size_(k * packing_of(kernels).columns(n)), storage_(static_cast<size_t>(size_) + kAlignment) {
    void* start = storage_.data();
    size_t space = storage_.size() * sizeof(float);
    data_ = static_cast<float*>(std::align(kAlignment * sizeof(float), sizeof(float), start, space));
    pack(kernels, false, b.data(), n, k, n, data_);
  }
  const float* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  static constexpr size_t kAlignment = 16;  // floats
  int64_t size_;
  std::vector<float> storage_;
  float* data_;
};

// Returns the address of each row of a matrix with k columns.
inline std::vector<const float*> rows_of(const std::vector<float>& a, int64_t k) {
  std::vector<const float*> rows;
  for (size_t i = 0; i < a.size(); i += static_cast<size_t>(k)) rows.push_back(a.data() + i);
  return rows;
}

}  // namespace rushlight::microkernels
