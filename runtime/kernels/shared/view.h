#pragma once

#include "kernels/shared/shape.h"
#include "rushlight/core/tensor.h"

namespace rushlight {

// A tensor over the memory of another tensor, with its own sizes and strides.
class View {
 public:
  View(const Tensor& base, int64_t first_element) {
    impl_.data = at(base, first_element);
    impl_.sizes = sizes_;
    impl_.strides = strides_;
    impl_.dim_order = base.dim_order().data();
    impl_.numel = 1;
    impl_.dtype = base.scalar_type();
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  void add(int64_t size, int64_t stride) {
    sizes_[impl_.dim] = static_cast<SizesType>(size);
    strides_[impl_.dim] = static_cast<StridesType>(stride);
    impl_.numel *= size;
    ++impl_.dim;
  }
  Tensor tensor() { return Tensor(&impl_); }

 private:
  TensorImpl impl_;
  SizesType sizes_[kMaxDim];
  StridesType strides_[kMaxDim];
};

}  // namespace rushlight
