// Copies tensors from one order of dimensions to another.
#include <algorithm>
#include <utility>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"
#include "core/move_bytes.h"
#include "core/transpose.h"

namespace rushlight::cpu {

namespace {

constexpr int64_t kSquare = 32;                    // rows and columns of a block of a transpose
constexpr int64_t kVectorRows = 16, kMinSide = 4;  // for transposes with vectors
constexpr int64_t kShortRow = 8;                   // rows that are shorter are copied several at a time

// Writes first[0], second[0], first[1], second[1], ... for `n` elements of each row.
template <typename T, int... I>
void interleave(const T* first, const T* second, int64_t n, T* to, std::integer_sequence<int, I...>) {
  constexpr int kLanes = sizeof...(I);
  typedef T Row __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Row a = *reinterpret_cast<const Row*>(first + i), b = *reinterpret_cast<const Row*>(second + i);
    Row* const pairs = reinterpret_cast<Row*>(to + 2 * i);
    pairs[0] = __builtin_shufflevector(a, b, (I / 2 + I % 2 * kLanes)...);
    pairs[1] = __builtin_shufflevector(a, b, (kLanes / 2 + I / 2 + I % 2 * kLanes)...);
  }
  for (; i < n; ++i) to[2 * i] = first[i], to[2 * i + 1] = second[i];
}

class CopyStep final : public Step {
 public:
  Error bind(const schema::Copy& op, Binder& binder) {
    in_ = binder.any_input(op.input());
    out_ = binder.any_output(op.output());
    RL_TRY(binder.error());
    RL_REQUIRE(in_->dtype == out_->dtype, InvalidProgram, "the input and the output of a copy have different dtypes");
    return Error::Ok;
  }

  Error prepare() override {
    RL_REQUIRE(in_->has_sizes_of(*out_), InvalidProgram, "the input and the output of a copy have different shapes");
    const View* const views[] = {out_, in_};
    loops_ = make_loops(views, 2);
    across_ = beyond_ = -1;
    if (in_->dtype == ScalarType::Float && loops_.inner_stride(1) > 1 && !joins_pairs()) {
      for (int i = 0; i + 1 < loops_.rank; ++i) {
        if (loops_.strides[1][i] == 1) across_ = i;
      }
    }
    if (across_ >= 0 && loops_.inner_stride(0) == 1 && loops_.sizes[across_] < kMinSide) {
      for (int i = 0; i + 1 < loops_.rank; ++i) {
        if (i != across_ && loops_.strides[1][i] == loops_.sizes[across_]) beyond_ = i;
      }
    }
    return Error::Ok;
  }

  Error run(Run& run) override {
    if (out_->numel() == 0) return Error::Ok;
    const int64_t workers = out_->numel() < kSerialWork ? 1 : run.workers;
    const bool has_contiguous_rows = loops_.inner_stride(0) == 1 && loops_.inner_stride(1) == 1;
    if (across_ >= 0) {
      copy_transposed(run.context, workers);
    } else if (loops_.inner() < kShortRow && loops_.rank > 1) {
      copy_short_rows(run.context, workers);
    } else if (loops_.outer() >= workers && loops_.rank > 1 && has_contiguous_rows) {
      for_workers(run.context, workers, loops_.outer(),
                  [&](int64_t, int64_t begin, int64_t end) { move_contiguous_rows(begin, end); });
    } else {
      copy_pieces(run.context, workers);
    }
    return Error::Ok;
  }

  const char* name() const override { return "copy"; }

 private:
  // Copies blocks of kSquare columns. A block has all rows along across_ and beyond_.
  void copy_transposed(KernelRuntimeContext& context, int64_t workers) const {
    const int64_t rows = loops_.sizes[across_] * (beyond_ < 0 ? 1 : loops_.sizes[beyond_]);
    const int64_t blocks = divide_up(loops_.inner(), kSquare);
    const int64_t others = loops_.outer() / rows;
    for_workers(context, workers, others * blocks, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) transpose(i / blocks, i % blocks * kSquare, rows);
    });
  }

  void copy_short_rows(KernelRuntimeContext& context, int64_t workers) const {
    const int64_t count = loops_.sizes[loops_.rank - 2];
    for_workers(context, workers, loops_.outer() / count, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) move_short_rows(i * count);
    });
  }

  // Copies whole rows, or pieces of rows if there are fewer rows than workers.
  void copy_pieces(KernelRuntimeContext& context, int64_t workers) const {
    const int64_t inner = loops_.inner(), pieces = loops_.outer() >= workers ? 1 : workers;
    for_workers(context, workers, loops_.outer() * pieces, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t piece = i % pieces;
        move(i / pieces, inner * piece / pieces, inner * (piece + 1) / pieces);
      }
    });
  }

  // Copies elements [begin, end) of a row.
  void move(int64_t row, int64_t begin, int64_t end) const {
    switch (element_size(in_->dtype)) {
      case 1:
        return move_of<uint8_t>(row, begin, end);
      case 4:
        return move_of<float>(row, begin, end);
      default:
        return move_of<int64_t>(row, begin, end);
    }
  }

  // Returns whether the rows of the output are pairs of one element of each of two rows of the input.
  bool joins_pairs() const {
    return loops_.rank > 1 && loops_.inner() == 2 && loops_.inner_stride(0) == 1 &&
           loops_.strides[0][loops_.rank - 2] == 2 && loops_.strides[1][loops_.rank - 2] == 1;
  }

  // Copies all rows along the second to last dimension, from row `first` on.
  void move_short_rows(int64_t first) const {
    switch (element_size(in_->dtype)) {
      case 1:
        return move_short_rows_of<uint8_t>(first);
      case 4:
        return move_short_rows_of<float>(first);
      default:
        return move_short_rows_of<int64_t>(first);
    }
  }

  // Copies rows [begin, end), whose elements are contiguous.
  void move_contiguous_rows(int64_t begin, int64_t end) const {
    const auto size = static_cast<int64_t>(element_size(in_->dtype));
    const int64_t rows = loops_.sizes[loops_.rank - 2];
    const int64_t to_row = loops_.strides[0][loops_.rank - 2], from_row = loops_.strides[1][loops_.rank - 2];
    for (int64_t row = begin; row < end;) {
      const int64_t count = std::min(rows - row % rows, end - row);
      move_rows(static_cast<uint8_t*>(out_->data) + loops_.row(0, row) * size, to_row * size,
                static_cast<const uint8_t*>(in_->data) + loops_.row(1, row) * size, from_row * size, count,
                static_cast<size_t>(loops_.inner() * size));
      row += count;
    }
  }

  template <typename T>
  void move_short_rows_of(int64_t first) const {
    const int64_t rows = loops_.sizes[loops_.rank - 2], inner = loops_.inner();
    const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
    const int64_t to_row = loops_.strides[0][loops_.rank - 2], from_row = loops_.strides[1][loops_.rank - 2];
    T* to = static_cast<T*>(out_->data) + loops_.row(0, first);
    const T* from = static_cast<const T*>(in_->data) + loops_.row(1, first);
    if (joins_pairs()) {
      return interleave(from, from + from_step, rows, to, std::make_integer_sequence<int, 16 / sizeof(T)>{});
    }
    for (int64_t i = 0; i < inner; ++i, to += to_step, from += from_step) {
      for (int64_t row = 0; row < rows; ++row) to[row * to_row] = from[row * from_row];
    }
  }

  template <typename T>
  void move_of(int64_t row, int64_t begin, int64_t end) const {
    const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
    T* to = static_cast<T*>(out_->data) + loops_.row(0, row) + begin * to_step;
    const T* from = static_cast<const T*>(in_->data) + loops_.row(1, row) + begin * from_step;
    const int64_t n = end - begin;
    if (to_step == 1 && from_step == 1) {
      move_bytes(to, from, static_cast<size_t>(n) * sizeof(T));
    } else if (to_step == 1 && from_step == 0) {
      std::fill_n(to, n, *from);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
    }
  }

  // Copies columns [first, first + kSquare) of the innermost dimension for all rows along across_ and beyond_. `other`
  // counts the positions in the other dimensions.
  void transpose(int64_t other, int64_t first, int64_t rows) const {
    int64_t from_offset = 0, to_offset = 0;
    for (int i = loops_.rank - 2; i >= 0; --i) {
      if (i == across_ || i == beyond_) continue;
      const int64_t at = other % loops_.sizes[i];
      other /= loops_.sizes[i];
      to_offset += at * loops_.strides[0][i];
      from_offset += at * loops_.strides[1][i];
    }
    const int64_t to_step = loops_.inner_stride(0), from_step = loops_.inner_stride(1);
    const int64_t to_row = loops_.strides[0][across_];
    float* to = out_->floats() + to_offset + first * to_step;
    const float* from = in_->floats() + from_offset + first * from_step;
    const int64_t columns = std::min(kSquare, loops_.inner() - first);
    if (beyond_ >= 0) {
      float block[kVectorRows * kSquare];
      const int64_t few = loops_.sizes[across_], to_beyond = loops_.strides[0][beyond_];
      for (int64_t r = 0; r < rows; r += kVectorRows) {
        const int64_t count = std::min(kVectorRows, rows - r);
        rushlight::transpose(from + r, from_step, columns, count, block, kSquare);
        for (int64_t i = r; i < r + count; ++i) {
          std::copy_n(block + (i - r) * kSquare, columns, to + i / few * to_beyond + i % few * to_row);
        }
      }
      return;
    }
    if (to_step == 1 && rows >= kMinSide && columns >= kMinSide) {
      for (int64_t r = 0; r < rows; r += kVectorRows) {
        const int64_t count = std::min(kVectorRows, rows - r);
        rushlight::transpose(from + r, from_step, columns, count, to + r * to_row, to_row);
      }
      return;
    }
    constexpr int64_t kRows = 8;
    for (int64_t r = 0; r < rows; r += kRows) {
      const int64_t count = std::min(kRows, rows - r);
      for (int64_t c = 0; c < columns; ++c) {
        const float* source = from + c * from_step + r;
        float* target = to + c * to_step + r * to_row;
        for (int64_t i = 0; i < count; ++i) target[i * to_row] = source[i];
      }
    }
  }

  const View* in_ = nullptr;
  const View* out_ = nullptr;
  Loops loops_;
  // The dimension along which the input is contiguous, or -1 if this is the innermost dimension or there is none.
  int across_ = -1;
  // If there are few rows along across_: the dimension whose rows follow them in the input, as in a pixel shuffle. -1
  // if there is none.
  int beyond_ = -1;
};

}  // namespace

Result<Step*> make_step(const schema::Copy& op, Binder& binder) { return binder.bind<CopyStep>(op); }

}  // namespace rushlight::cpu
