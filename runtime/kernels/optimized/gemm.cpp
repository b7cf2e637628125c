#include "kernels/optimized/gemm.h"

#include <algorithm>

#include "microkernels/workers.h"

namespace rushlight::optimized {

using microkernels::BiasOf;
using microkernels::F32Gemm;
using microkernels::F32Microkernels;
using microkernels::kSerialWork;

namespace {

// The cost of packing a column of the RHS, in rows of the product.
constexpr int64_t kPackingRows = 6;

// The numbers of parts into which the rows and columns of the product are divided. All parts need about the same time.
struct Grid {
  int64_t rows = 1;
  int64_t columns = 1;
};

Grid divide(const F32Microkernels& kernels, const F32Gemm& p, int64_t workers) {
  if (workers == 1 || p.m * p.n * std::max<int64_t>(p.k, 1) < kSerialWork) return {};
  const int64_t panels = (p.n + microkernels::column_step(kernels) - 1) / microkernels::column_step(kernels);
  const int64_t max_rows = (p.m + kernels.gemm_rows - 1) / kernels.gemm_rows;
  Grid best;
  int64_t best_cost = INT64_MAX;
  for (int64_t rows = 1; rows <= std::min(workers, max_rows); ++rows) {
    const int64_t columns = std::min(workers / rows, panels);
    const int64_t part_rows = (p.m + rows - 1) / rows + kPackingRows;
    const int64_t part_columns = std::min((panels + columns - 1) / columns * microkernels::column_step(kernels), p.n);
    const int64_t cost = part_rows * part_columns;
    if (cost < best_cost) best = {rows, columns}, best_cost = cost;
  }
  return best;
}

void multiply_part(const F32Microkernels& kernels, const F32Gemm& p, const Grid& grid, int64_t part, float* scratch) {
  const int64_t step = microkernels::column_step(kernels);
  const int64_t panels = (p.n + step - 1) / step;
  const int64_t row = part / grid.columns;
  const int64_t column = part % grid.columns;
  multiply(kernels, p, p.m * row / grid.rows, p.m * (row + 1) / grid.rows, panels * column / grid.columns * step,
           std::min(p.n, panels * (column + 1) / grid.columns * step), scratch);
}

// Columns of one task.
constexpr int64_t kChunk = 32;

// Returns product `index` of the products of run_batched_gemm().
F32Gemm product_at(const F32Gemm& first, int64_t index, const Steps& steps) {
  F32Gemm p = first;
  p.a += index * steps.a;
  p.b += index * steps.b;
  p.c += index * steps.c;
  return p;
}

// Computes products with few rows of A: the columns of all products are divided among workers.
void multiply_few_rows(KernelRuntimeContext& context, const F32Microkernels& kernels, const F32Gemm& gemm,
                       int64_t count, const Steps& steps, int64_t workers) {
  const int64_t chunks = (gemm.n + kChunk - 1) / kChunk;
  microkernels::for_workers(context, workers, count * chunks, [&](int64_t, int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t first = begin % chunks;
      const int64_t last = std::min(chunks, first + end - begin);
      microkernels::multiply_few_rows(kernels, product_at(gemm, begin / chunks, steps), first * kChunk,
                                      std::min(gemm.n, last * kChunk));
      begin += last - first;
    }
  });
}

}  // namespace

bool run_gemm(KernelRuntimeContext& context, const F32Gemm& gemm) { return run_batched_gemm(context, gemm, 1, {}); }

bool run_batched_gemm(KernelRuntimeContext& context, const F32Gemm& gemm, int64_t count, const Steps& steps) {
  const F32Microkernels& kernels = microkernels::f32_microkernels();
  if (count == 0 || gemm.m == 0 || gemm.n == 0) return true;
  const bool small = count * gemm.m * gemm.n * std::max<int64_t>(gemm.k, 1) < kSerialWork;
  const int64_t workers = small ? 1 : microkernels::worker_count(context);
  if (microkernels::has_few_rows(gemm)) {
    multiply_few_rows(context, kernels, gemm, count, steps, workers);
    return true;
  }
  const Grid grid = count >= 4 * workers ? Grid{} : divide(kernels, gemm, workers);
  const int64_t parts = grid.rows * grid.columns;
  const int64_t scratch_size = (gemm_scratch(kernels, gemm.k, gemm.n) + 15) / 16 * 16;
  float* scratch = context.allocate_temporary_array<float>(static_cast<size_t>(workers * scratch_size));
  if (scratch == nullptr) return false;
  microkernels::for_workers(context, workers, count * parts, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      multiply_part(kernels, product_at(gemm, i / parts, steps), grid, i % parts, scratch + worker * scratch_size);
    }
  });
  return true;
}

}  // namespace rushlight::optimized
