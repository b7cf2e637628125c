#include "kernels/shared/matmul.h"

#include "kernels/shared/accumulator.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/matmul_tile.h"

namespace rushlight {
namespace {

// Computes in the compute type C of `dtype`.
template <typename C>
void run(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& p) {
  using Accumulator = AccumulatorOf<C>;
  const Convert load = load_function(dtype, scalar_type_of<C>), store = store_function(scalar_type_of<C>, dtype);
  const auto size = static_cast<int64_t>(element_size(dtype));
  const auto at = [size](const MatrixStack& stack, int64_t batch, int64_t row, int64_t column) {
    return static_cast<uint8_t*>(stack.data) + (batch * stack.batch + row * stack.row + column * stack.column) * size;
  };
  const int64_t row_tiles = (p.rows + kTileRows - 1) / kTileRows;
  const int64_t column_tiles = (p.columns + kTileColumns - 1) / kTileColumns;
  const Accumulator alpha = static_cast<Accumulator>(p.alpha.to<NumberOf<Accumulator>>());
  const Accumulator beta = static_cast<Accumulator>(p.beta.to<NumberOf<Accumulator>>());
  const bool has_bias = p.bias.data != nullptr && beta != Accumulator(0);
  context.parallel_for(0, p.batches * row_tiles * column_tiles, 1, [&](int64_t begin, int64_t end) {
    MatmulTile<Accumulator> tile;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t batch = task / (row_tiles * column_tiles);
      const int64_t r0 = task / column_tiles % row_tiles * kTileRows;
      const int64_t c0 = task % column_tiles * kTileColumns;
      const int64_t rows = std::min(kTileRows, p.rows - r0);
      const int64_t columns = std::min(kTileColumns, p.columns - c0);
      tile.clear();
      for (int64_t k0 = 0; k0 < p.depth; k0 += kTileDepth) {
        const int64_t depth = std::min(kTileDepth, p.depth - k0);
        for (int64_t k = 0; k < depth; ++k) {
          load(at(p.b, batch, k0 + k, c0), p.b.column, tile.packed[k], 1, columns);
          std::fill(tile.packed[k] + columns, tile.packed[k] + kTileColumns, Accumulator(0));
        }
        tile.multiply(rows, depth, [&](int64_t r, Accumulator* lhs) {
          load(at(p.a, batch, r0 + r, k0), p.a.column, lhs, 1, depth);
        });
      }
      Accumulator bias[kTileColumns];
      for (int64_t r = 0; r < rows; ++r) {
        Accumulator* const values = tile.sums[r];
        if (has_bias) load(at(p.bias, batch, r0 + r, c0), p.bias.column, bias, 1, columns);
        for (int64_t c = 0; c < columns; ++c) {
          values[c] = alpha * values[c];
          if (has_bias) values[c] += beta * bias[c];
        }
        store(values, 1, at(p.out, batch, r0 + r, c0), p.out.column, columns);
      }
    }
  });
}

}  // namespace

void matmul(KernelRuntimeContext& context, ScalarType dtype, const MatmulProblem& problem) {
  switch_compute<kinds::kAll>(context, dtype,
                              [&](auto tag) { run<typename decltype(tag)::type>(context, dtype, problem); });
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
