#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/transpose.h"
#include "kernels/optimized/matrices.h"
#include "kernels/shared/convert.h"
#include "microkernels/tables/integer.h"

namespace rushlight::optimized {

namespace {

using microkernels::kProductColumns;

constexpr int64_t kRows = 64, kPackedRows = 16, kDepth = 64;
constexpr int64_t kSize = 8;  // bytes of a number of the compute type: float64 or int64

// The sums of a tile of kRows x kProductColumns results, and parts of the operands in the compute type.
struct Tile {
  uint64_t sums[kRows + 3][kProductColumns];
  uint64_t a[kPackedRows][kDepth];
  uint64_t b[kDepth][kProductColumns];
};

// sums = alpha * sums + beta * bias for n numbers.
template <typename T, typename Number>
void scale(void* sums, const void* bias, const Scalar& alpha, const Scalar& beta, int64_t n) {
  T* const to = static_cast<T*>(sums);
  const T* const from = static_cast<const T*>(bias);
  const T a = static_cast<T>(alpha.to<Number>()), b = static_cast<T>(beta.to<Number>());
  for (int64_t i = 0; i < n; ++i) to[i] = a * to[i] + (from ? b * from[i] : T(0));
}

class WideProduct {
 public:
  WideProduct(const MatmulProblem& problem, ScalarType dtype)
      : p_(problem),
        is_float_(dtype == ScalarType::Double),
        size_(static_cast<int64_t>(element_size(dtype))),
        load_(load_function(dtype, is_float_ ? dtype : ScalarType::Long)),
        store_(store_function(is_float_ ? dtype : ScalarType::Long, dtype)) {}

  // Computes up to kRows rows and kProductColumns columns of a product, from (r0, c0) on.
  void compute(int64_t batch, int64_t r0, int64_t c0) const {
    Tile tile;
    std::memset(tile.sums, 0, sizeof(tile.sums));
    const int64_t rows = std::min(kRows, p_.rows - r0), columns = std::min(kProductColumns, p_.columns - c0);
    for (int64_t k0 = 0; k0 < p_.depth; k0 += kDepth) {
      const int64_t depth = std::min(kDepth, p_.depth - k0);
      pack(at(p_.b, batch, k0, c0), p_.b.row, p_.b.column, depth, columns, &tile.b[0][0], kProductColumns);
      add(at(p_.a, batch, r0, k0), rows, depth, &tile);
    }
    for (int64_t r = 0; r < rows; ++r) finish(batch, r0 + r, c0, columns, tile.sums[r]);
  }

 private:
  uint8_t* at(const MatrixStack& stack, int64_t batch, int64_t row, int64_t column) const {
    return static_cast<uint8_t*>(stack.data) + (batch * stack.batch + row * stack.row + column * stack.column) * size_;
  }

  // Converts a part of a matrix. Columns beyond the last one are set to 0.
  void pack(const uint8_t* from, int64_t row_step, int64_t column_step, int64_t rows, int64_t columns, uint64_t* to,
            int64_t width) const {
    if (row_step == 1 && size_ == kSize) {
      if (columns < width) std::fill_n(to, rows * width, 0);
      return transpose(reinterpret_cast<const uint64_t*>(from), column_step, columns, rows, to, width);
    }
    for (int64_t r = 0; r < rows; ++r, to += width) {
      load_(from + r * row_step * size_, column_step, to, 1, columns);
      std::fill(to + columns, to + width, 0);
    }
  }

  // Adds the products of rows of a, from `from` on, with the packed part of b.
  void add(const uint8_t* from, int64_t rows, int64_t depth, Tile* tile) const {
    const auto multiply = microkernels::integer_microkernels().add_products;
    if (p_.a.column == 1 && size_ == kSize) {
      return multiply(is_float_, from, p_.a.row, tile->b, tile->sums, rows, depth);
    }
    for (int64_t r = 0; r < rows; r += kPackedRows) {
      const int64_t count = std::min(kPackedRows, rows - r);
      pack(from + r * p_.a.row * size_, p_.a.row, p_.a.column, count, depth, &tile->a[0][0], kDepth);
      multiply(is_float_, tile->a, kDepth, tile->b, tile->sums[r], count, depth);
    }
  }

  void finish(int64_t batch, int64_t row, int64_t column, int64_t n, uint64_t* sums) const {
    uint64_t bias[kProductColumns];
    const bool has_bias = p_.bias.data != nullptr && p_.beta.to<double>() != 0;
    if (has_bias) load_(at(p_.bias, batch, row, column), p_.bias.column, bias, 1, n);
    if (is_float_) {
      scale<double, double>(sums, has_bias ? bias : nullptr, p_.alpha, p_.beta, n);
    } else {
      scale<uint64_t, int64_t>(sums, has_bias ? bias : nullptr, p_.alpha, p_.beta, n);
    }
    store_(sums, 1, at(p_.out, batch, row, column), p_.out.column, n);
  }

  const MatmulProblem& p_;
  bool is_float_;
  int64_t size_;
  Convert load_, store_;
};

}  // namespace

void multiply_wide_matrices(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& p) {
  const WideProduct product(p, dtype);
  const int64_t row_tiles = (p.rows + kRows - 1) / kRows;
  const int64_t column_tiles = (p.columns + kProductColumns - 1) / kProductColumns;
  context.parallel_for(0, p.batches * row_tiles * column_tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      product.compute(task / (row_tiles * column_tiles), task / column_tiles % row_tiles * kRows,
                      task % column_tiles * kProductColumns);
    }
  });
}

}  // namespace rushlight::optimized
