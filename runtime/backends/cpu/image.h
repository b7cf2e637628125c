#pragma once

#include <cstring>

#include "backends/cpu/step.h"
#include "core/rounding.h"
#include "microkernels/conv/f32.h"
#include "microkernels/image.h"
#include "microkernels/workers.h"

namespace rushlight::cpu {

using microkernels::Image;
using microkernels::kSerialWork;
using microkernels::Sources;

inline Result<Image> image_of(const View& view) {
  RL_REQUIRE(view.rank == 4, InvalidProgram, "an image has %d dimensions instead of 4", view.rank);
  Image image;
  image.data = view.floats();
  for (int i = 0; i < 4; ++i) {
    image.sizes[i] = view.sizes[i];
    image.strides[i] = view.strides[i];
  }
  return image;
}

// The inputs of a convolution, whose channels are concatenated in the order of the inputs.
class SourceViews {
 public:
  Error bind(Binder& binder, Operand input, const flatbuffer::Operands& more_inputs) {
    RL_REQUIRE(more_inputs.size() < Sources::kMax, InvalidProgram, "a convolution has too many inputs: %u",
               more_inputs.size() + 1);
    views_[count_++] = binder.input(input);
    for (uint32_t i = 0; i < more_inputs.size(); ++i) views_[count_++] = binder.input(more_inputs[i]);
    return binder.error();
  }

  Result<Sources> images() const {
    Sources sources;
    for (int i = 0; i < count_; ++i) {
      RL_ASSIGN(const Image image, image_of(*views_[i]));
      RL_REQUIRE(sources.add(image), InvalidProgram,
                 "the inputs of a convolution have different batch sizes, heights or widths");
    }
    return sources;
  }
  // Returns the addresses of the images, in the order of images().
  const float* const* data() {
    for (int i = 0; i < count_; ++i) data_[i] = views_[i]->floats();
    return data_;
  }

 private:
  const View* views_[Sources::kMax] = {};
  const float* data_[Sources::kMax] = {};
  int count_ = 0;
};

// Returns a pixel of zeros, which convolutions read for padding: PackedConvolution::zeros. Its lifetime is that of the
// steps.
inline const float* padding_pixel(Binder& binder, int64_t channels) {
  const size_t count = static_cast<size_t>(channels + microkernels::PackedConvolution::kZerosAfterPixel);
  float* const items = binder.array<float>(count);
  if (items) std::memset(items, 0, count * sizeof(float));
  return items;
}

inline Window window_of(const schema::Window& window) {
  Window w{};
  w.kernel_h = window.kernel_h(), w.kernel_w = window.kernel_w();
  w.stride_h = window.stride_h(), w.stride_w = window.stride_w();
  w.pad_h = window.pad_h(), w.pad_w = window.pad_w();
  w.dilation_h = window.dilation_h(), w.dilation_w = window.dilation_w();
  return w;
}

}  // namespace rushlight::cpu
