#include "kernels/shared/short_rows.h"

#include <algorithm>
#include <complex>
#include <cstring>

namespace rushlight {
namespace {

// Elements of 8 bytes, which may be complex numbers with an alignment of 4 bytes.
struct Pair {
  uint32_t words[2];
};

// Copies `rows` rows of n elements to consecutive elements, and may write kSlackBytes more.
template <typename T>
void copy_short_rows(const uint8_t* data, int64_t row_stride, int64_t stride, int64_t rows, int64_t n,
                     uint8_t* buffer) {
  constexpr int64_t kAtOnce = 32 / static_cast<int64_t>(sizeof(T));
  constexpr int64_t kMinRepeated = 40;  // with fewer elements, calls of memcpy are slower
  const T* const from = reinterpret_cast<const T*>(data);
  T* const to = reinterpret_cast<T*>(buffer);
  if (row_stride == 0 && rows * n > kMinRepeated) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
    for (int64_t done = n, all = rows * n; done < all; done *= 2) {
      std::memcpy(to + done, to, static_cast<size_t>(std::min(done, all - done)) * sizeof(T));
    }
    return;
  }
  if (stride == 0) {
    // A constant number of copies is faster. The next row overwrites those that do not belong to the row.
    for (int64_t r = 0; r < rows; ++r) {
      const T value = from[r * row_stride];
      for (int64_t i = 0; i < n; i += kAtOnce) {
        for (int64_t lane = 0; lane < kAtOnce; ++lane) to[r * n + i + lane] = value;
      }
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const T* const row = from + r * row_stride;
    if (stride == 1 && n > kAtOnce) {
      std::memcpy(to + r * n, row, static_cast<size_t>(n) * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i) to[r * n + i] = row[i * stride];
    }
  }
}

}  // namespace

bool ShortRows::prepare(const LoopNest& nest, int out, int64_t limit) {
  constexpr int64_t kMaxRow = 100;
  limit_ = limit;
  if (nest.dim < 2 || nest.inner_size() > std::min(kMaxRow, limit / 2)) return false;
  int64_t consecutive = 1;
  for (int d = nest.dim - 1; d >= 0; consecutive *= nest.size[d--]) {
    if (nest.stride[out][d] != consecutive) return false;
  }
  n_ = nest.inner_size();
  rows_ = n_ > 0 ? consecutive / n_ : 0;
  for (int k = 0; k < nest.operands; ++k) {
    LoopNest& outer = outer_[k];
    outer.dim = nest.dim - 1;
    outer.operands = 1;
    std::copy_n(nest.size, outer.dim, outer.size);
    std::copy_n(nest.stride[k], outer.dim, outer.stride[0]);
    outer.collapse();
    if (outer.dim == 1 && outer.stride[0][0] == 0) outer.dim = 0;
    stride_[k] = nest.inner_stride(k);
  }
  return true;
}

const uint8_t* ShortRows::read(int operand, const uint8_t* data, int64_t size, int64_t first, int64_t count,
                               uint8_t* buffer) const {
  const LoopNest& outer = outer_[operand];
  const int64_t stride = stride_[operand];
  const auto copy = size == 1   ? copy_short_rows<uint8_t>
                    : size == 2 ? copy_short_rows<uint16_t>
                    : size == 4 ? copy_short_rows<uint32_t>
                    : size == 8 ? copy_short_rows<Pair>
                                : copy_short_rows<std::complex<double>>;
  if (outer.dim == 0) {
    copy(data, 0, stride, count, n_, buffer);
    return buffer;
  }
  const bool is_consecutive = stride == 1 && outer.inner_stride(0) == n_;
  const uint8_t* result = buffer;
  uint8_t* to = buffer;
  for_each_row(outer, first, first + count, [&](const int64_t* offsets, int64_t rows) {
    if (is_consecutive && rows == count) {
      result = data + offsets[0] * size;
      return;
    }
    copy(data + offsets[0] * size, outer.inner_stride(0), stride, rows, n_, to);
    to += rows * n_ * size;
  });
  return result;
}

}  // namespace rushlight
