#include "kernels/shared/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/move_bytes.h"
#include "core/transpose.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/build_mode.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/short_rows.h"

namespace rushlight {
namespace {

constexpr int64_t kBytesPerTask = 1 << 16;
// A transpose reads this many contiguous bytes from each row, and writes whole cache lines.
constexpr int64_t kReadBytes = 1024;
constexpr int64_t kLineBytes = 64;

// Whether transposes and blocks have loops of their own. Otherwise one loop copies all orders of elements.
constexpr bool kCopiesBlocks = !kIsForSize;

int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

// The offsets of the current position in the outer loops. The innermost loop counts fastest.
class LoopPosition {
 public:
  LoopPosition(const StridedLoops& loops, int count, int64_t position) : loops_(loops), count_(count) {
    for (int i = count - 1; i >= 0; --i) {
      const auto& loop = loops[i];
      index_[i] = position % loop.size;
      position /= loop.size;
      src += index_[i] * loop.src;
      dst += index_[i] * loop.dst;
    }
  }
  void step() {
    for (int i = count_ - 1; i >= 0; --i) {
      const auto& loop = loops_[i];
      src += loop.src;
      dst += loop.dst;
      if (++index_[i] < loop.size) return;
      index_[i] = 0;
      src -= loop.size * loop.src;
      dst -= loop.size * loop.dst;
    }
  }
  int64_t src = 0, dst = 0;

 private:
  const StridedLoops& loops_;
  int count_;
  int64_t index_[StridedLoops::kMaxLoops];
};

int64_t outer_count(const StridedLoops& loops, int count) {
  int64_t product = 1;
  for (int i = 0; i < count; ++i) product *= loops[i].size;
  return product;
}

void copy_contiguous(KernelRuntimeContext& context, const StridedLoops& loops, const uint8_t* src, uint8_t* dst,
                     int64_t size) {
  const int outer = loops.count() - 1;
  const int64_t run = loops[outer].size * size;
  const int64_t rows = outer_count(loops, outer);
  if (rows == 1) {
    context.parallel_for(0, run, kBytesPerTask, [&](int64_t begin, int64_t end) {
      move_bytes(dst + begin, src + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  context.parallel_for(0, rows, std::max<int64_t>(1, kBytesPerTask / run), [&](int64_t begin, int64_t end) {
    LoopPosition at(loops, outer, begin);
    for (int64_t row = begin; row < end; ++row, at.step()) {
      move_bytes(dst + at.dst * size, src + at.src * size, static_cast<size_t>(run));
    }
  });
}

// Transposes a square block, whose sides have one cache line, in a buffer, so that whole cache lines are written.
// Otherwise, rows whose distance is a power of two would evict each other from the cache before their lines are full.
// The rows of the next block, which are in different memory pages, are prefetched at the same time.
template <typename T>
void copy_square(const T* from, int64_t from_stride, T* to, int64_t to_stride, bool more) {
  constexpr int64_t kSide = kLineBytes / static_cast<int64_t>(sizeof(T));
  alignas(kLineBytes) T block[kSide * kSide];
  if (more) {
    for (int64_t c = kSide; c < 2 * kSide; ++c) __builtin_prefetch(to + c * to_stride, 1);
  }
  transpose_square(from, from_stride, block);
  for (int64_t c = 0; c < kSide; ++c) std::memcpy(to + c * to_stride, block + c * kSide, kLineBytes);
}

// Does the same for a part of a block, or for destination rows that are not contiguous.
template <typename T>
void copy_part(const T* from, int64_t from_stride, int64_t height, int64_t width, T* to, int64_t to_stride,
               int64_t to_step) {
  constexpr int64_t kSide = kLineBytes / static_cast<int64_t>(sizeof(T));
  alignas(kLineBytes) T block[kSide * kSide];
  transpose(from, from_stride, height, width, block, kSide);
  for (int64_t c = 0; c < width; ++c) {
    const T* const row = block + c * kSide;
    for (int64_t i = 0; i < height; ++i) to[c * to_stride + i * to_step] = row[i];
  }
}

// Copy planes to pixels of k channels, or pixels to planes.
template <int k, typename T>
void interleave(const T* from, int64_t plane, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int j = 0; j < k; ++j) to[i * k + j] = from[j * plane + i];
  }
}
template <int k, typename T>
void deinterleave(const T* from, T* to, int64_t plane, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int j = 0; j < k; ++j) to[j * plane + i] = from[i * k + j];
  }
}

// Copies tensors with two to four interleaved channels on one side. Returns false if the loops do not have this form.
template <typename T>
bool copy_channels(KernelRuntimeContext& context, const StridedLoops& loops, const T* src, T* dst) {
  constexpr int64_t kPixels = kBytesPerTask / 4 / static_cast<int64_t>(sizeof(T));
  const int outer = loops.count() - 2;
  const auto columns = loops[outer];  // src stride 1
  const auto rows = loops[outer + 1];
  const bool interleaves = rows.size <= 4 && rows.dst == 1 && columns.dst == rows.size;
  const bool deinterleaves = columns.size <= 4 && rows.dst == 1 && rows.src == columns.size;
  if (!interleaves && !deinterleaves) return false;
  const int64_t channels = interleaves ? rows.size : columns.size, pixels = interleaves ? columns.size : rows.size;
  const int64_t chunks = (pixels + kPixels - 1) / kPixels;
  const int64_t grain = std::max<int64_t>(1, kPixels / pixels);
  context.parallel_for(0, outer_count(loops, outer) * chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const LoopPosition at(loops, outer, task / chunks);
      const int64_t first = task % chunks * kPixels, n = std::min(kPixels, pixels - first);
      const T* const from = src + at.src + (interleaves ? first : first * channels);
      T* const to = dst + at.dst + (interleaves ? first * channels : first);
      const auto run = [&](auto tag) {
        constexpr int k = decltype(tag)::value;
        interleaves ? interleave<k>(from, rows.src, to, n) : deinterleave<k>(from, to, columns.dst, n);
      };
      if (channels == 2) {
        run(std::integral_constant<int, 2>());
      } else if (channels == 3) {
        run(std::integral_constant<int, 3>());
      } else {
        run(std::integral_constant<int, 4>());
      }
    }
  });
  return true;
}

// The last loop writes consecutive elements; the second last loop reads consecutive elements.
template <typename T>
void copy_transposed(KernelRuntimeContext& context, const StridedLoops& loops, const T* src, T* dst) {
  constexpr int64_t kSide = kLineBytes / static_cast<int64_t>(sizeof(T));
  constexpr int64_t kColumns = kReadBytes / static_cast<int64_t>(sizeof(T));
  const int outer = loops.count() - 2;
  const auto columns = loops[outer];  // src stride 1
  const auto rows = loops[outer + 1];
  const int64_t strips = (columns.size + kColumns - 1) / kColumns;
  const int64_t bands = (rows.size + kSide - 1) / kSide;
  const int64_t work = std::min(kColumns, columns.size) * std::min(kSide, rows.size) * static_cast<int64_t>(sizeof(T));
  const int64_t tasks = outer_count(loops, outer) * strips * bands;
  context.parallel_for(0, tasks, std::max<int64_t>(1, kBytesPerTask / work), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const LoopPosition at(loops, outer, task / (strips * bands));
      const int64_t first = task / bands % strips * kColumns, r = task % bands * kSide;
      const int64_t width = std::min(kColumns, columns.size - first);
      const int64_t height = std::min(kSide, rows.size - r);
      const T* const from = src + at.src + first + r * rows.src;
      T* const to = dst + at.dst + first * columns.dst + r * rows.dst;
      const bool whole_lines = height == kSide && rows.dst == 1;
      for (int64_t c = 0; c < width; c += kSide) {
        T* const square = to + c * columns.dst;
        if (whole_lines && c + kSide <= width) {
          copy_square(from + c, rows.src, square, columns.dst, c + 2 * kSide <= width);
        } else {
          copy_part(from + c, rows.src, height, std::min(kSide, width - c), square, columns.dst, rows.dst);
        }
      }
    }
  });
}

template <typename T>
void copy_every_second(const T* from, T* to, int64_t n) {
  int64_t i = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if constexpr (sizeof(T) == 1) {
    // Keeps the low byte of each pair; compilers generate pack instructions for this. The last pair may be incomplete.
    for (; i < n - 1; ++i) {
      uint16_t pair;
      std::memcpy(&pair, from + 2 * i, 2);
      to[i] = static_cast<T>(pair);
    }
  }
#endif
  for (; i < n; ++i) to[i] = from[2 * i];
}

// Computes to[i] = from[-i].
template <typename T>
void copy_backwards(const T* from, T* to, int64_t n) {
  int64_t i = 0;
  if constexpr (sizeof(T) <= 2) {
    constexpr int64_t kStep = 8 / static_cast<int64_t>(sizeof(T));
    for (; i + kStep <= n; i += kStep) {
      uint64_t word;
      std::memcpy(&word, from - i - (kStep - 1), 8);
      word = __builtin_bswap64(word);
      if constexpr (sizeof(T) == 2) {
        constexpr uint64_t kLow = 0x00ff00ff00ff00ff;
        word = (word >> 8 & kLow) | (word & kLow) << 8;
      }
      std::memcpy(to + i, &word, 8);
    }
  }
#if RL_TRANSPOSE_VECTORS
  if constexpr (sizeof(T) == 4) {
    typedef uint32_t Vector __attribute__((vector_size(16)));
    for (; i + 4 <= n; i += 4) {
      Vector v;
      std::memcpy(&v, from - i - 3, 16);
      v = __builtin_shufflevector(v, v, 3, 2, 1, 0);
      std::memcpy(to + i, &v, 16);
    }
  }
#endif
  for (; i < n; ++i) to[i] = from[-i];
}

template <typename T>
void copy_inner(KernelRuntimeContext& context, const StridedLoops& loops, const T* src, T* dst) {
  const int outer = loops.count() - 1;
  const auto inner = loops[outer];
  const int64_t bytes = inner.size * static_cast<int64_t>(sizeof(T));
  const int64_t grain = std::max<int64_t>(1, kBytesPerTask / bytes);
  context.parallel_for(0, outer_count(loops, outer), grain, [&](int64_t begin, int64_t end) {
    LoopPosition at(loops, outer, begin);
    for (int64_t row = begin; row < end; ++row, at.step()) {
      const T* from = src + at.src;
      T* to = dst + at.dst;
      if (inner.src == 0 && inner.dst == 1) {
        std::fill(to, to + inner.size, *from);
      } else if (kCopiesBlocks && inner.src == 2 && inner.dst == 1) {
        copy_every_second(from, to, inner.size);
      } else if (kCopiesBlocks && inner.src == -1 && inner.dst == 1) {
        copy_backwards(from, to, inner.size);
      } else {
        for (int64_t i = 0; i < inner.size; ++i) to[i * inner.dst] = from[i * inner.src];
      }
    }
  });
}

// Copies short rows, which are repeated or consist of equal or distant elements, in blocks. Returns false if the rows
// are long or the destination is not contiguous.
bool copy_short_rows(KernelRuntimeContext& context, const StridedLoops& loops, const uint8_t* src, uint8_t* dst,
                     int64_t size) {
  constexpr int64_t kBlock = 2048;  // bytes
  if (loops.count() > kMaxDim) return false;
  LoopNest nest;
  for (int i = 0; i < loops.count(); ++i) nest.push(loops[i].size, {loops[i].src, loops[i].dst});
  ShortRows rows;
  if (!rows.prepare(nest, 1, kBlock / size)) return false;
  const int64_t bytes = rows.row_size() * size;
  context.parallel_for(0, rows.rows(), std::max<int64_t>(1, kBytesPerTask / bytes), [&](int64_t begin, int64_t end) {
    alignas(kLineBytes) uint8_t block[kBlock + ShortRows::kSlackBytes];
    for (int64_t first = begin; first < end; first += rows.rows_at_once()) {
      const int64_t count = std::min(rows.rows_at_once(), end - first);
      const uint8_t* const from = rows.read(0, src, size, first, count, block);
      move_bytes(dst + first * bytes, from, static_cast<size_t>(count * bytes));
    }
  });
  return true;
}

}  // namespace

int64_t StridedLoops::numel() const { return outer_count(*this, count_); }

void StridedLoops::normalize() {
  int kept = 0;
  for (int i = 0; i < count_; ++i) {
    if (loops_[i].size != 1) loops_[kept++] = loops_[i];
  }
  count_ = kept;
  for (int i = 1; i < count_; ++i) {
    const Loop loop = loops_[i];
    int j = i;
    for (; j > 0 && magnitude(loops_[j - 1].dst) < magnitude(loop.dst); --j) loops_[j] = loops_[j - 1];
    loops_[j] = loop;
  }
  kept = 0;
  for (int i = 1; i < count_; ++i) {
    Loop& outer = loops_[kept];
    const Loop& inner = loops_[i];
    if (outer.src == inner.src * inner.size && outer.dst == inner.dst * inner.size) {
      outer = {outer.size * inner.size, inner.src, inner.dst};
    } else {
      loops_[++kept] = inner;
    }
  }
  count_ = count_ == 0 ? 0 : kept + 1;
  if (count_ == 0) loops_[count_++] = {1, 1, 1};
}

void strided_copy(KernelRuntimeContext& context, StridedLoops loops, const void* src, void* dst, size_t element_size) {
  if (loops.numel() == 0) return;
  loops.normalize();
  const int last = loops.count() - 1;
  const auto size = static_cast<int64_t>(element_size);
  const auto* const from_bytes = static_cast<const uint8_t*>(src);
  auto* const to_bytes = static_cast<uint8_t*>(dst);
  if (loops[last].src == 1 && loops[last].dst == 1) {
    if (src == dst && last == 0) return;
    if (kCopiesBlocks && loops[last].size * size <= kLineBytes &&
        copy_short_rows(context, loops, from_bytes, to_bytes, size))
      return;
    return copy_contiguous(context, loops, from_bytes, to_bytes, size);
  }
  int read_loop = -1;  // the loop that reads consecutive elements
  for (int i = 0; i < last; ++i) {
    if (loops[i].src == 1) read_loop = i;
  }
  const bool is_backwards = loops[last].src == -1 && loops[last].size * size >= kLineBytes;
  if (kCopiesBlocks && (read_loop < 0 || loops[last].src == 0) && !is_backwards &&
      copy_short_rows(context, loops, from_bytes, to_bytes, size)) {
    return;
  }
  switch_element_size(context, element_size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(src);
    T* to = static_cast<T*>(dst);
    if (!kCopiesBlocks || read_loop < 0 || loops[last].src == 0) return copy_inner(context, loops, from, to);
    if constexpr (kCopiesBlocks) {
      StridedLoops reordered;
      for (int i = 0; i < last; ++i) {
        if (i != read_loop) reordered.add(loops[i].size, loops[i].src, loops[i].dst);
      }
      for (const int i : {read_loop, last}) reordered.add(loops[i].size, loops[i].src, loops[i].dst);
      if (!copy_channels(context, reordered, from, to)) copy_transposed(context, reordered, from, to);
    }
  });
}

StridedLoops loops_over(Span<const SizesType> sizes, Span<const StridesType> src, Span<const StridesType> dst) {
  StridedLoops loops;
  for (size_t i = 0; i < sizes.size(); ++i) loops.add(sizes[i], src[i], dst[i]);
  return loops;
}

void copy_elements(KernelRuntimeContext& context, const Tensor& in, const Tensor& out) {
  strided_copy(context, loops_over(in.sizes(), in.strides(), out.strides()), in.const_data_ptr(),
               out.mutable_data_ptr(), in.element_size());
}

void copy_row_major(KernelRuntimeContext& context, const Tensor& in, int64_t in_first, const Tensor& out,
                    int64_t out_first, int64_t count) {
  const size_t size = in.element_size();
  if (is_row_major(in) && is_row_major(out)) {
    StridedLoops loops;
    loops.add(count, 1, 1);
    strided_copy(context, loops, at(in, in_first), at(out, out_first), size);
    return;
  }
  StridedLoops from, to;
  for (int64_t i = 0; i < in.dim(); ++i) from.add(in.size(i), in.stride(i), 0);
  for (int64_t i = 0; i < out.dim(); ++i) to.add(out.size(i), 0, out.stride(i));
  switch_element_size(context, size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* src = in.const_data_ptr<T>();
    T* dst = out.mutable_data_ptr<T>();
    context.parallel_for(0, count, kBytesPerTask / static_cast<int64_t>(sizeof(T)), [&](int64_t begin, int64_t end) {
      LoopPosition read(from, from.count(), in_first + begin);
      LoopPosition write(to, to.count(), out_first + begin);
      for (int64_t i = begin; i < end; ++i, read.step(), write.step()) dst[write.dst] = src[read.src];
    });
  });
}

void copy_reshaped(KernelRuntimeContext& context, const Tensor& in, const Tensor& out) {
  if (same_shape(in, out)) {
    copy_elements(context, in, out);
  } else {
    copy_row_major(context, in, 0, out, 0, in.numel());
  }
}

}  // namespace rushlight
