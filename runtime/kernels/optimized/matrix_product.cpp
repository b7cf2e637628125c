#include "kernels/optimized/matrix_product.h"

#include <algorithm>

#include "kernels/optimized/workers.h"

namespace rushlight::optimized {

using tiles::Product;
using tiles::Tiles;

namespace {

// Multiplications below which a hand-off to another thread does not pay.
constexpr int64_t kSerialWork = 1 << 15;
// What packing a column of the right operand costs, in rows of the product.
constexpr int64_t kPackingRows = 6;

// A grid of parts, all of about the same work.
struct Grid {
  int64_t rows = 1;
  int64_t columns = 1;
};

Grid divide(const Tiles& tiles, const Product& p, int64_t workers) {
  if (workers == 1 || p.m * p.n * std::max<int64_t>(p.k, 1) < kSerialWork) return {};
  const int64_t panels = (p.n + tiles::column_step(tiles) - 1) / tiles::column_step(tiles);
  const int64_t most_rows = (p.m + tiles.gemm_rows - 1) / tiles.gemm_rows;
  Grid best;
  int64_t best_cost = INT64_MAX;
  for (int64_t rows = 1; rows <= std::min(workers, most_rows); ++rows) {
    const int64_t columns = std::min(workers / rows, panels);
    const int64_t part_rows = (p.m + rows - 1) / rows + kPackingRows;
    const int64_t part_columns = std::min((panels + columns - 1) / columns * tiles::column_step(tiles), p.n);
    const int64_t cost = part_rows * part_columns;
    if (cost < best_cost) best = {rows, columns}, best_cost = cost;
  }
  return best;
}

void multiply_part(const Tiles& tiles, const Product& p, const Grid& grid, int64_t part, float* scratch) {
  const int64_t step = tiles::column_step(tiles);
  const int64_t panels = (p.n + step - 1) / step;
  const int64_t row = part / grid.columns;
  const int64_t column = part % grid.columns;
  multiply(tiles, p, p.m * row / grid.rows, p.m * (row + 1) / grid.rows, panels * column / grid.columns * step,
           std::min(p.n, panels * (column + 1) / grid.columns * step), scratch);
}

}  // namespace

bool matrix_product(KernelRuntimeContext& context, const Product& product) {
  return matrix_products(context, product, 1, 0, 0, 0);
}

bool matrix_products(KernelRuntimeContext& context, const Product& product, int64_t count, int64_t a_step,
                     int64_t b_step, int64_t c_step) {
  const Tiles& tiles = tiles::tiles();
  const int64_t threads = worker_count(context);
  if (count == 0 || product.m == 0 || product.n == 0) return true;
  const bool small = count * product.m * product.n * std::max<int64_t>(product.k, 1) < kSerialWork;
  const int64_t workers = small ? 1 : threads;
  const Grid grid = count >= 4 * workers ? Grid{} : divide(tiles, product, workers);
  const int64_t parts = grid.rows * grid.columns;
  const int64_t scratch_size = (product_scratch(tiles, product.k, product.n) + 15) / 16 * 16;
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * scratch_size));
  if (scratch == nullptr) return false;
  for_workers(context, workers, count * parts, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Product p = product;
      p.a += i / parts * a_step;
      p.b += i / parts * b_step;
      p.c += i / parts * c_step;
      multiply_part(tiles, p, grid, i % parts, scratch + worker * scratch_size);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
