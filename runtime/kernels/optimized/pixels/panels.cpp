#include "kernels/optimized/pixels/panels.h"

#include <algorithm>

namespace rushlight::optimized {

void pack(const tiles::Tiles& tiles, bool is_transposed, const float* b, int64_t ldb, int64_t k, int64_t n, float* to) {
  const Packing packing = packing_of(tiles);
  for (int64_t j = 0; j < n; j += packing.panel) {
    const int64_t columns = std::min(packing.panel, n - j);
    const int vectors = static_cast<int>(packing.columns(columns) / packing.vector);
    if (is_transposed) {
      tiles.pack_transposed(vectors, b + j * ldb, ldb, k, columns, to + j * k);
    } else {
      tiles.pack_rows(vectors, b + j, ldb, k, columns, to + j * k);
    }
  }
}

void multiply(const Panels& p, int64_t p0, int64_t p1) {
  const tiles::Tiles& tiles = *p.tiles;
  const int64_t width = tiles.width;
  const int64_t panel = tiles.gemm_vectors * width;
  const int64_t depth = p.taps * p.k;
  tiles::PanelTile tile{};
  tile.row_step = p.row_step;
  tile.taps = p.taps;
  tile.k = p.k;
  tile.c_step = p.c_step;
  tile.epilogue = p.epilogue;
  for (int64_t i = p0; i < p1; ++i) {
    const int64_t column = i * panel;
    tile.columns = std::min(panel, p.n - column);
    const int vectors = static_cast<int>((tile.columns + width - 1) / width);
    tile.b = p.b + column * depth;
    tile.bias = p.bias ? p.bias + column : nullptr;
    // Only a whole panel is sure to be as long as this one is read ahead.
    tile.ahead = (i + 2) * panel <= p.n && tile.columns == panel ? tile.b + depth * panel : nullptr;
    const int64_t most = vectors == 1 ? tiles.packed->narrow_rows : tiles.gemm_rows;
    const int64_t groups = (p.m + most - 1) / most;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t m = p.m * g / groups;
      tile.rows = p.rows + m;
      tile.c = p.c + m * p.c_step + column;
      if (p.epilogue.residual) tile.epilogue.residual = p.epilogue.residual + m * p.epilogue.residual_step + column;
      tiles.packed->panel(static_cast<int>(p.m * (g + 1) / groups - m), vectors, tile);
      tile.ahead = nullptr;
    }
  }
}

}  // namespace rushlight::optimized
