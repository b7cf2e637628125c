#pragma once

#include <cstring>

#include "backends/cpu/step.h"
#include "kernels/optimized/pixels/image.h"

namespace rushlight::cpu {

using optimized::Image;
using optimized::kSerialWork;
using optimized::round_up;
using optimized::Sources;
using optimized::Window;

inline Result<Image> image_of(const View& view) {
  RL_REQUIRE(view.rank == 4, InvalidProgram, "an image of a plan has %d dimensions", view.rank);
  Image image;
  image.data = view.floats();
  for (int i = 0; i < 4; ++i) {
    image.sizes[i] = view.sizes[i];
    image.strides[i] = view.strides[i];
  }
  return image;
}

// The operands that a convolution reads, of a step whose values are input, weights, bias, residual, further inputs (or
// none) whose channels follow the first's, output. `more`: where the further ones begin.
class SourceViews {
 public:
  Error bind(Binder& binder, uint32_t more = 4) {
    RL_REQUIRE(output(binder) < more + Sources::kMost, InvalidProgram, "a convolution has %u operands",
               binder.value_count());
    views_[count_++] = binder.input(0);
    for (uint32_t i = more; i < output(binder); ++i) views_[count_++] = binder.input(i);
    return binder.error();
  }
  // The output's index.
  static uint32_t output(const Binder& binder) { return std::max<uint32_t>(binder.value_count(), 5) - 1; }

  Result<Sources> images() const {
    Sources sources;
    for (int i = 0; i < count_; ++i) {
      RL_ASSIGN(const Image image, image_of(*views_[i]));
      RL_REQUIRE(sources.add(image), InvalidProgram, "inputs of a convolution differ in their pixels");
    }
    return sources;
  }
  // In the order of images().
  const float* const* data() {
    for (int i = 0; i < count_; ++i) data_[i] = views_[i]->floats();
    return data_;
  }

 private:
  const View* views_[Sources::kMost] = {};
  const float* data_[Sources::kMost] = {};
  int count_ = 0;
};

// `count` zeros that live as long as the steps.
inline const float* zeros(Binder& binder, int64_t count) {
  float* items = binder.array<float>(static_cast<size_t>(count));
  if (items) std::memset(items, 0, static_cast<size_t>(count) * sizeof(float));
  return items;
}

// Eight ints from `first` on, in the order of the members.
inline Window read_window(Binder& binder, uint32_t first) {
  Window w{};
  w.kernel_h = binder.integer(first, 1, 1 << 12);
  w.kernel_w = binder.integer(first + 1, 1, 1 << 12);
  w.stride_h = binder.integer(first + 2, 1, 1 << 16);
  w.stride_w = binder.integer(first + 3, 1, 1 << 16);
  w.pad_h = binder.integer(first + 4, 0, 1 << 16);
  w.pad_w = binder.integer(first + 5, 0, 1 << 16);
  w.dilation_h = binder.integer(first + 6, 1, 1 << 16);
  w.dilation_w = binder.integer(first + 7, 1, 1 << 16);
  return w;
}

}  // namespace rushlight::cpu
