#include "kernels/shared/matmul.h"

#include "kernels/shared/accumulator.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/matmul_tile.h"

namespace rushlight {
namespace {

template <typename T>
void run(KernelRuntimeContext& context, const MatmulProblem& p) {
  using Accumulator = AccumulatorOf<T>;
  const int64_t row_tiles = (p.rows + kTileRows - 1) / kTileRows;
  const int64_t column_tiles = (p.columns + kTileColumns - 1) / kTileColumns;
  const Accumulator alpha = static_cast<Accumulator>(p.alpha.to<NumberOf<Accumulator>>());
  const Accumulator beta = static_cast<Accumulator>(p.beta.to<NumberOf<Accumulator>>());
  const bool has_bias = p.bias.data != nullptr && beta != Accumulator(0);
  context.parallel_for(0, p.batches * row_tiles * column_tiles, 1, [&](int64_t begin, int64_t end) {
    MatmulTile<Accumulator> tile;
    int64_t offsets[kTileDepth];
    for (int64_t k = 0; k < kTileDepth; ++k) offsets[k] = k * p.a.column;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t batch = task / (row_tiles * column_tiles);
      const int64_t r0 = task / column_tiles % row_tiles * kTileRows;
      const int64_t c0 = task % column_tiles * kTileColumns;
      const int64_t rows = std::min(kTileRows, p.rows - r0);
      const int64_t columns = std::min(kTileColumns, p.columns - c0);
      const T* a = static_cast<const T*>(p.a.data) + batch * p.a.batch + r0 * p.a.row;
      const T* b = static_cast<const T*>(p.b.data) + batch * p.b.batch + c0 * p.b.column;
      tile.clear();
      for (int64_t k0 = 0; k0 < p.depth; k0 += kTileDepth) {
        const int64_t depth = std::min(kTileDepth, p.depth - k0);
        for (int64_t k = 0; k < depth; ++k) {
          const T* from = b + (k0 + k) * p.b.row;
          for (int64_t c = 0; c < columns; ++c) tile.packed[k][c] = static_cast<Accumulator>(from[c * p.b.column]);
          std::fill(tile.packed[k] + columns, tile.packed[k] + kTileColumns, Accumulator(0));
        }
        tile.multiply(a + k0 * p.a.column, p.a.row, offsets, rows, depth);
      }
      T* out = static_cast<T*>(p.out.data) + batch * p.out.batch + r0 * p.out.row + c0 * p.out.column;
      const T* bias = static_cast<const T*>(p.bias.data);
      if (has_bias) bias += batch * p.bias.batch + r0 * p.bias.row + c0 * p.bias.column;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          Accumulator value = alpha * tile.sums[r][c];
          if (has_bias) value += beta * static_cast<Accumulator>(bias[r * p.bias.row + c * p.bias.column]);
          out[r * p.out.row + c * p.out.column] = static_cast<T>(value);
        }
      }
    }
  });
}

}  // namespace

void matmul(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& problem) {
  switch_dtype<kMatmulTypes>(context, dtype, [&](auto tag) { run<typename decltype(tag)::type>(context, problem); });
}

MatrixStack matrix_of(const Tensor& tensor, bool batched) {
  const int64_t first = batched ? 1 : 0;
  return {tensor.mutable_data_ptr(), batched ? tensor.stride(0) : 0, tensor.stride(first), tensor.stride(first + 1)};
}

bool broadcast_matrix(KernelRuntimeContext& context, const Tensor& tensor, Span<const int64_t> sizes,
                      MatrixStack* matrix) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  const int64_t leading = rank - tensor.dim();
  int64_t strides[3] = {};
  bool fits = leading >= 0;
  for (int64_t i = 0; fits && i < tensor.dim(); ++i) {
    const bool repeated = tensor.size(i) == 1;
    fits = repeated || tensor.size(i) == sizes[leading + i];
    strides[3 - rank + leading + i] = repeated ? 0 : tensor.stride(i);
  }
  if (!fits) {
    context.fail(Error::InvalidArgument, "the summand does not broadcast to the product's shape");
    return false;
  }
  *matrix = {tensor.mutable_data_ptr(), strides[0], strides[1], strides[2]};
  return true;
}

}  // namespace rushlight
