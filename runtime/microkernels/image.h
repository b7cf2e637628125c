// Views of images in any layout.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/window.h"

namespace rushlight::microkernels {

// A view of an image [n, h, w, c]. Strides are in floats.
struct Image {
  float* data = nullptr;
  int64_t sizes[4] = {};
  int64_t strides[4] = {};

  int64_t numel() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  // Returns whether the distance from each pixel to the next is constant. Sets `step` to this distance in floats (0 if
  // there is at most one pixel).
  bool has_pixel_step(int64_t* step) const {
    *step = 0;
    int64_t expected = -1;
    for (int i = 2; i >= 0; --i) {
      if (sizes[i] == 1) continue;
      if (expected < 0) {
        *step = strides[i];
      } else if (strides[i] != expected) {
        return false;
      }
      expected = strides[i] * sizes[i];
    }
    return true;
  }
  bool has_channels_last() const { return sizes[3] <= 1 || strides[3] == 1; }
};

// The input of a convolution: one image, or several images whose channels are concatenated.
struct Sources {
  static constexpr int kMax = 8;

  Sources() = default;
  Sources(const Image& only) : count(1) { images[0] = only; }
  // Adds an image. Returns false if there are already kMax images, or if the batch size, height or width differs from
  // that of the first image.
  bool add(const Image& image) {
    if (count == kMax || (count > 0 && !std::equal(image.sizes, image.sizes + 3, images[0].sizes))) return false;
    images[count++] = image;
    return true;
  }
  int64_t channels() const {
    int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += images[i].sizes[3];
    return sum;
  }
  // Returns the batch size (axis 0), height (1) or width (2).
  int64_t size(int axis) const { return images[0].sizes[axis]; }
  bool has_channels_last() const {
    return std::all_of(images, images + count, [](const Image& image) { return image.has_channels_last(); });
  }
  void set_data(const float* const* data) {
    for (int i = 0; i < count; ++i) images[i].data = const_cast<float*>(data[i]);
  }

  Image images[kMax];
  int count = 0;
};

}  // namespace rushlight::microkernels
