#include "microkernels/gemm/int8.h"

#include <algorithm>
#include <cstring>

#include "core/rounding.h"

namespace rushlight::microkernels {

namespace {

// The maximum number of bytes of rows of the LHS. They stay in the L2 cache together with the panels of the RHS.
constexpr int64_t kBlockBytes = 160 * 1024;
constexpr int64_t kMaxRows = 32, kMaxColumns = 64;
// The maximum number of bytes of sums. They are converted to results while they are in the L1 cache.
constexpr int64_t kSumBytes = 8 * 1024;
static_assert(kSumBytes >= kMaxRows * kMaxColumns * 4);
// If the RHS is not packed: the number of columns and rows that are multiplied at a time.
constexpr int64_t kDotColumns = 16, kDotRows = 63;

// Returns the numbers from row to row of the LHS. This is an odd number of cache lines, so that the rows use different
// cache sets.
int64_t lhs_stride(const Int8Microkernels& kernels, int64_t k) {
  const int64_t line = 64 / kernels.lhs_size;
  return round_up(k, line) / line % 2 == 1 ? round_up(k, line) : round_up(k, line) + line;
}

int64_t block_rows(const Int8Microkernels& kernels, int64_t k) {
  const int64_t most = kBlockBytes / std::max<int64_t>(1, lhs_stride(kernels, k) * kernels.lhs_size);
  return std::min<int64_t>(std::max<int64_t>(most / kernels.rows, 1), 16) * kernels.rows;
}

int64_t sums_bytes(int64_t n) { return round_up(n * 4, 64); }

int panel_vectors(const Int8Microkernels& kernels, int64_t columns) {
  return static_cast<int>((columns + kernels.lanes - 1) / kernels.lanes);
}

Requantize requantize_of(const Int8Gemm& p, int64_t column, const int32_t* correction) {
  Requantize how = p.requantize;
  how.correction = correction;
  how.multiplier += column;
  if (how.offset) how.offset += column;
  return how;
}

// Returns the parameters of Dequantize for rows from `row` on and columns from `column` on.
Dequantize dequantize_of(const Int8Microkernels& kernels, const Int8Gemm& p, int64_t row, int64_t column,
                         const int32_t* rhs_sums) {
  return {p.zeros + row * p.row_step,
          p.scales + row * p.row_step,
          p.row_step,
          kernels.lhs_offset,
          rhs_sums,
          p.multiplier + column,
          p.offset ? p.offset + column : nullptr,
          p.least,
          p.most,
          p.accumulate};
}

// Converts the sums of rows from `row` on and columns from `column` on to results.
void finish(const Int8Microkernels& kernels, const Int8Gemm& p, int64_t row, int64_t column, const SumRows& rows,
            const int32_t* rhs_sums, const int32_t* correction) {
  const int64_t at = row * p.out_stride + column;
  switch (p.out_kind) {
    case Int8Gemm::Out::Quantized: {
      Requantize how = requantize_of(p, column, correction);
      if (how.sum.others) how.sum.others += at;
      return kernels.requantize(how, rows, static_cast<uint8_t*>(p.out) + at);
    }
    case Int8Gemm::Out::Float32:
      return kernels.dequantize(dequantize_of(kernels, p, row, column, rhs_sums), rows,
                                static_cast<float*>(p.out) + at);
    case Int8Gemm::Out::Int32:
      for (int64_t i = 0; i < rows.rows; ++i) {
        std::memcpy(static_cast<int32_t*>(p.out) + at + i * rows.out_stride, rows.sums + i * rows.sums_stride,
                    static_cast<size_t>(rows.columns) * sizeof(int32_t));
      }
  }
}

template <int group>
void pack_panel(const int8_t* from, int64_t stride, int64_t filled, int64_t width, int64_t k, int8_t* to) {
  int64_t g = 0;
  for (; (g + 1) * group <= k; ++g) {
    for (int64_t j = 0; j < filled; ++j) std::memcpy(to + j * group, from + j * stride + g * group, group);
    if (filled < width) std::memset(to + filled * group, 0, static_cast<size_t>((width - filled) * group));
    to += width * group;
  }
  if (g * group == k) return;
  std::memset(to, 0, static_cast<size_t>(width * group));
  for (int64_t j = 0; j < filled; ++j) {
    std::memcpy(to + j * group, from + j * stride + g * group, static_cast<size_t>(k - g * group));
  }
}

// Packs `rows` rows of the LHS from row `row` on, with `depth` numbers each.
void read_lhs(const Int8Microkernels& kernels, const Int8Gemm& p, int64_t row, int64_t rows, int64_t depth,
              int64_t stride, uint8_t* lhs) {
  // The numbers from p.k to depth are multiplied by zeros.
  if (p.gather && p.gather_rows) return p.gather_rows(p.context, row, rows, stride * kernels.lhs_size, lhs);
  if (!p.gather && kernels.pack_rows) {
    return kernels.pack_rows({p.lhs + row * p.lhs_stride, p.lhs_stride, p.sign_mask, p.k, stride}, rows, lhs);
  }
  for (int64_t i = 0; i < rows; ++i) {
    uint8_t* const to = lhs + i * stride * kernels.lhs_size;
    if (p.gather) {
      p.gather(p.context, row + i, to);
    } else {
      kernels.pack_lhs(p.lhs + (row + i) * p.lhs_stride, p.sign_mask, p.k, to);
    }
    if (depth != p.k) kernels.fill_lhs(0, depth - p.k, to + p.k * kernels.lhs_size);
  }
}

// Returns whether rows of the LHS can be read in place. Their distance must not be a multiple of 4096, because all rows
// would then use the same cache set.
bool is_read_in_place(const Int8Microkernels& kernels, const Int8Gemm& p) {
  constexpr int64_t kConflictBytes = 4096;
  return !p.gather && !p.windows && kernels.lhs_size == 1 && kernels.lhs_offset == p.sign_mask &&
         p.k % kernels.group == 0 && p.lhs_stride % kConflictBytes != 0;
}

// As multiply(), for an RHS that is not packed. An additional row of ones in the LHS computes the sums of the columns.
void multiply_columns(const Int8Microkernels& kernels, const Int8Gemm& p, int64_t m0, int64_t m1, int64_t n0,
                      int64_t n1, int32_t* sums, uint8_t* lhs) {
  const int64_t stride = lhs_stride(kernels, p.k);
  const int64_t depth = round_up(p.k, kernels.dot_step);
  const int64_t most = std::min(block_rows(kernels, p.k), kDotRows + 1) - 1;
  uint8_t* const first = lhs + stride * kernels.lhs_size;
  kernels.fill_lhs(static_cast<int8_t>(1 - kernels.lhs_offset), depth, lhs);
  for (int64_t row = m0; row < m1; row += most) {
    const int64_t rows = std::min(most, m1 - row);
    read_lhs(kernels, p, row, rows, depth, stride, first);
    for (int64_t column = n0; column < n1; column += kDotColumns) {
      const int64_t columns = std::min(kDotColumns, n1 - column);
      kernels.dots(rows + 1, columns,
                   {lhs, stride, p.columns + column * p.column_stride, p.column_stride, p.k, sums, kDotColumns});
      int32_t correction[kDotColumns];
      if (p.out_kind == Int8Gemm::Out::Quantized) {
        for (int64_t j = 0; j < columns; ++j) {
          const int32_t bias = p.requantize.correction ? p.requantize.correction[column + j] : 0;
          correction[j] = wrapping_difference(bias, wrapping_difference(p.zeros[0], -1, kernels.lhs_offset), sums[j]);
        }
      }
      finish(kernels, p, row, column, {sums + kDotColumns, kDotColumns, rows, columns, p.out_stride}, sums, correction);
      if (p.finish) p.finish(p.finish_context, row, rows, column, columns);
    }
  }
}

// Divides `count` rows into tiles of similar height, at most `most` rows, and returns the height of the first tile. If
// other tiles follow, it is even or `most`, because high tiles with an odd height are computed in two parts; see
// tables/tile_parts.h.
int64_t first_tile_rows(int64_t count, int64_t most) {
  const int64_t tiles = (count + most - 1) / most, rows = (count + tiles - 1) / tiles;
  return tiles > 1 && rows < most ? (rows + 1) / 2 * 2 : rows;
}

// Sets the LHS of the next tile to windows from `row` on. Returns the number of rows of the tile, which are in one line
// of the image or in two short lines.
int64_t next_windows(const Int8Microkernels& kernels, const Int8Windows& w, int64_t row, int64_t rows, Int8Tile* tile) {
  const int64_t line = row / w.width, x = row - line * w.width;
  tile->lhs = w.first + line * w.line_step + x * w.row_step;
  const bool is_of_two = x == 0 && 2 * w.width <= std::min<int64_t>(rows, kernels.rows);
  const int64_t count = is_of_two ? 2 * w.width : first_tile_rows(std::min(rows, w.width - x), kernels.rows);
  tile->half_step = is_of_two ? w.line_step : (count + 1) / 2 * w.row_step;
  return count;
}

// A block of results: rows [row, row + rows) of one panel, whose columns are [column, column + columns).
struct Block {
  int64_t row, rows;
  int64_t column, columns;
};

// The last tile of gemm_pipelined(): its sums are in memory, and its epilogue is applied while the sums of the next
// tile are computed. The next tile may belong to another panel.
struct PendingTile {
  bool exists = false;
  TileEpilogue end;
  PanelEpilogue panels[2];  // one belongs to this tile, if it exists

  PanelEpilogue& free_panel() { return panels[exists && end.panel == &panels[0] ? 1 : 0]; }
};

// Computes a block with microkernels that convert sums to results in the same function (gemm_results() and
// gemm_pipelined()). `tile` is the first tile without its LHS. `lhs` is the LHS of the block, unless p.windows is set.
void multiply_to_results(const Int8Microkernels& kernels, const Int8Gemm& p, const Block& block, Int8Tile tile,
                         const uint8_t* lhs, PendingTile* pending) {
  const bool is_quantized = p.out_kind == Int8Gemm::Out::Quantized;
  const int64_t result_bytes = is_quantized ? 1 : sizeof(float);
  const int vectors = static_cast<int>(tile.sums_stride / kernels.lanes);
  const int32_t* const sums_of_rhs = rhs_sums(p.rhs) + block.column;
  PanelEpilogue& panel = pending->free_panel();
  Dequantize dequantize{};
  TileEpilogue end{&panel, is_quantized ? nullptr : &dequantize, nullptr, p.out_stride, block.columns};
  end.has_other_mask = p.requantize.sum.sign_mask != 0;
  bool is_pipelined = false;  // whether full tiles are computed by gemm_pipelined()
  if (is_quantized) {
    const int32_t* const correction = p.requantize.correction ? p.requantize.correction + block.column : nullptr;
    const Requantize requantize = requantize_of(p, block.column, correction);
    const bool is_faster = kernels.prepare_requantize(vectors, requantize, block.columns, &panel);
    is_pipelined = is_faster && kernels.gemm_pipelined && tile.groups >= kMinPipelinedGroups;
  } else {
    dequantize = dequantize_of(kernels, p, block.row, block.column, sums_of_rhs);
    kernels.prepare_dequantize(vectors, dequantize, block.columns, &panel);
  }
  for (int64_t i = 0, count = 0; i < block.rows; i += count) {
    const int64_t left = block.rows - i;
    end.done = 0;
    if (p.windows) {
      count = next_windows(kernels, *p.windows, block.row + i, left, &tile);
    } else if (kernels.release_shapes && block.rows >= kernels.rows) {
      // All tiles have the same height. The last tile computes some rows a second time.
      count = std::min<int64_t>(left, kernels.rows);
      end.done = kernels.rows - count;
      tile.lhs = lhs + (i - end.done) * tile.lhs_stride;
      tile.half_step = kernels.rows / 2 * tile.lhs_stride;
    } else {
      // A full tile is followed by no rows, or by at least half a tile.
      const bool is_full = left == kernels.rows || left - kernels.rows >= kernels.rows / 2;
      count = is_pipelined && is_full ? kernels.rows : first_tile_rows(left, kernels.rows);
      tile.lhs = lhs + i * tile.lhs_stride * kernels.lhs_size;
      tile.half_step = (count + 1) / 2 * tile.lhs_stride;
    }
    const int64_t at = (block.row + i) * p.out_stride + block.column;
    if (!is_quantized) dequantize = dequantize_of(kernels, p, block.row + i, block.column, sums_of_rhs);
    if (is_quantized && p.requantize.sum.others) end.others = p.requantize.sum.others + at;
    end.out = static_cast<uint8_t*>(p.out) + at * result_bytes;
    if (is_pipelined && count == kernels.rows) {
      kernels.gemm_pipelined(tile, end, pending->exists ? &pending->end : nullptr);
      pending->exists = true;
      pending->end = end;
    } else {
      kernels.gemm_results(static_cast<int>(count + end.done), vectors, tile, end);
    }
    tile.ahead += tile.runs * tile.groups * tile.ahead_step;
  }
}

// Memory that is read next. The tiles of a block prefetch it, a slice each.
struct NextMemory {
  const int8_t* from;  // may be null
  int64_t bytes;
};

// Returns the memory that is read after a block, unless an earlier block has prefetched it: the next panel of the RHS,
// which follows the panel of the block, or p.ahead after the last panel.
NextMemory memory_after(const Int8Gemm& p, const Block& block, int64_t m0, int64_t m1, int64_t n1, const int8_t* panel,
                        int64_t panel_bytes) {
  const bool is_last_panel = block.column + block.columns >= n1;
  if (!is_last_panel) return {block.row == m0 ? panel + panel_bytes : nullptr, panel_bytes};
  return {block.row + block.rows == m1 ? p.ahead : nullptr, p.ahead_bytes};
}

// Computes a block with gemm(), which stores sums. The sums of a few tiles are converted to results at a time. `tile`
// is the first tile without its LHS; its sums have kSumBytes.
void multiply_to_sums(const Int8Microkernels& kernels, const Int8Gemm& p, const Block& block, Int8Tile tile,
                      const uint8_t* lhs) {
  int32_t* const sums = tile.sums;
  const int vectors = static_cast<int>(tile.sums_stride / kernels.lanes);
  const int32_t* const sums_of_rhs = rhs_sums(p.rhs) + block.column;
  const int32_t* const correction = p.requantize.correction ? p.requantize.correction + block.column : nullptr;
  const int64_t tiles = (block.rows + kernels.rows - 1) / kernels.rows;
  // With more rows of sums than this, there is no space for another tile.
  const int64_t most = kSumBytes / (4 * tile.sums_stride) - kernels.rows;
  for (int64_t i = 0, done = 0, t = 0; t < tiles; ++t) {
    const int64_t count = (block.rows - i + tiles - t - 1) / (tiles - t);
    tile.lhs = lhs + i * tile.lhs_stride * kernels.lhs_size;
    tile.sums = sums + (i - done) * tile.sums_stride;
    kernels.gemm(static_cast<int>(count), vectors, tile);
    i += count;
    if (i < block.rows && i - done <= most) continue;
    finish(kernels, p, block.row + done, block.column, {sums, tile.sums_stride, i - done, block.columns, p.out_stride},
           sums_of_rhs, correction);
    done = i;
  }
}

}  // namespace

void pack_scaled_rows(const float* from, int64_t stride, int64_t rows, int64_t tile, const ScaledColumns& columns,
                      float* to) {
  // Writes `n` terms from `first` on, `step` terms apart.
  const auto pack = [&](int64_t row, int64_t first, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; ++i) *to++ = row < rows ? from[row * stride + first + i * step] : 0.0f;
  };
  for (int64_t k = 0, end = columns.left, n; k < columns.terms; k += n) {
    if (k == end) end += columns.group;
    n = std::min(kScaledBlock, std::min(end, columns.terms) - k);
    for (int64_t row = 0; row < tile; ++row) {
      if (!columns.is_int4 || n < kScaledBlock) {
        pack(row, k, 1, n);
      } else {
        pack(row, k, 2, n / 2);
        pack(row, k + 1, 2, n / 2);
      }
    }
  }
}

size_t packed_rhs_size(const Int8Microkernels& kernels, int64_t n, int64_t k) {
  return static_cast<size_t>(sums_bytes(n) + round_up(n, kernels.lanes) * round_up(k, kernels.group));
}

void pack_rhs(const Int8Microkernels& kernels, const int8_t* from, int64_t stride, int64_t n, int64_t k, void* to) {
  pack_columns(kernels, from, stride, n, k, 0, n, to);
}

void pack_columns(const Int8Microkernels& kernels, const int8_t* from, int64_t stride, int64_t n, int64_t k, int64_t n0,
                  int64_t n1, void* to) {
  const int64_t depth = round_up(k, kernels.group);
  int8_t* const panels = static_cast<int8_t*>(to) + sums_bytes(n);
  for (int64_t column = n0; column < n1; column += column_step(kernels)) {
    const int64_t filled = std::min(column_step(kernels), n - column);
    const int64_t width = panel_vectors(kernels, filled) * int64_t{kernels.lanes};
    if (kernels.group == 8) {
      pack_panel<8>(from + column * stride, stride, filled, width, k, panels + column * depth);
    } else if (kernels.group == 4) {
      pack_panel<4>(from + column * stride, stride, filled, width, k, panels + column * depth);
    } else {
      pack_panel<2>(from + column * stride, stride, filled, width, k, panels + column * depth);
    }
  }
  int32_t* const sums = static_cast<int32_t*>(to);
  for (int64_t j = n0; j < n1; ++j) {
    int32_t sum = 0;
    for (int64_t l = 0; l < k; ++l) sum += from[j * stride + l];
    sums[j] = sum;
  }
}

const int8_t* panels_of(const void* packed, int64_t n) { return static_cast<const int8_t*>(packed) + sums_bytes(n); }

const int32_t* rhs_sums(const void* packed) { return static_cast<const int32_t*>(packed); }

void zero_corrections(const Int8Microkernels& kernels, const void* packed, int64_t n, int32_t zero, const int32_t* bias,
                      int32_t* to) {
  const int32_t* const sums = rhs_sums(packed);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t exact = (bias ? bias[j] : 0) - (int64_t{zero} + kernels.lhs_offset) * sums[j];
    to[j] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
  }
}

size_t gemm_scratch(const Int8Microkernels& kernels, int64_t k) {
  const int64_t lhs = block_rows(kernels, k) * lhs_stride(kernels, k) * kernels.lhs_size;
  const auto bytes = static_cast<size_t>(kSumBytes + round_up(lhs, 64));
  return kernels.smaller ? std::max(bytes, gemm_scratch(*kernels.smaller, k)) : bytes;
}

void multiply(const Int8Microkernels& kernels, const Int8Gemm& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
              void* scratch) {
  bool repeats = false;
  if (kernels.smaller && p.rhs) {
    const int64_t run = round_up(p.windows ? p.windows->run : p.k, kernels.group) / kernels.group;
    repeats = kernels.repeated_groups(run) != 0;
    // Rows of windows are not packed, so that no groups can be repeated.
    const bool is_smaller = !kernels.is_faster(p.windows ? p.windows->width : m1 - m0, run) || (repeats && p.windows) ||
                            p.out_kind == Int8Gemm::Out::Int32;
    if (is_smaller) return multiply(*kernels.smaller, p, m0, m1, n0, n1, scratch);
  }
  int32_t* const sums = static_cast<int32_t*>(scratch);
  uint8_t* const lhs = static_cast<uint8_t*>(scratch) + kSumBytes;
  if (p.rhs == nullptr) return multiply_columns(kernels, p, m0, m1, n0, n1, sums, lhs);
  const bool in_place = !repeats && is_read_in_place(kernels, p);
  const int64_t stride = p.windows ? p.windows->row_step : in_place ? p.lhs_stride : lhs_stride(kernels, p.k);
  const int64_t depth = round_up(p.k, kernels.group);
  const int64_t step = column_step(kernels);
  const int8_t* const panels = panels_of(p.rhs, p.n);
  const int64_t most = p.windows ? std::max<int64_t>(1, m1 - m0) : block_rows(kernels, p.k);
  const bool gives_results = kernels.gemm_results && p.out_kind != Int8Gemm::Out::Int32;

  PendingTile pending;
  Int8TileShapes shapes;
  for (int64_t row = m0; row < m1;) {
    // All blocks have similar sizes, so that no tile is much smaller than the others.
    const int64_t blocks = (m1 - row + most - 1) / most;
    const int64_t rows = (m1 - row + blocks - 1) / blocks;
    const int64_t tiles = (rows + kernels.rows - 1) / kernels.rows;
    const uint8_t* const from = in_place ? p.lhs + row * stride : lhs;
    if (!p.windows && !in_place) read_lhs(kernels, p, row, rows, depth, stride, lhs);
    if (repeats) kernels.repeat_in_lhs(depth / kernels.group, rows, stride, lhs);
    for (int64_t column = n0; column < n1; column += step) {
      const Block block{row, rows, column, std::min(step, n1 - column)};
      Int8Tile tile{};
      tile.lhs_stride = stride;
      tile.rhs = panels + column * depth;
      tile.groups = depth / kernels.group;
      tile.shapes = &shapes;
      tile.sums = sums;
      tile.sums_stride = panel_vectors(kernels, std::min(step, p.n - column)) * kernels.lanes;
      if (p.windows) {
        tile.groups = p.windows->run / kernels.group;
        tile.runs = p.windows->runs, tile.run_step = p.windows->run_step;
      }
      if (gives_results) {
        const NextMemory ahead = memory_after(p, block, m0, m1, n1, tile.rhs, depth * tile.sums_stride);
        tile.ahead = ahead.from ? ahead.from : tile.rhs;
        const int64_t steps = depth / kernels.group * tiles;
        if (ahead.from) tile.ahead_step = std::min<int64_t>(64, ahead.bytes / steps + 1);
        multiply_to_results(kernels, p, block, tile, from, &pending);
      } else {
        multiply_to_sums(kernels, p, block, tile, from);
      }
      if (p.finish) p.finish(p.finish_context, row, rows, column, block.columns);
    }
    row += rows;
  }
  if (pending.exists) kernels.finish_pipelined(sums, pending.end);
  if (shapes.rows != 0) kernels.release_shapes();
}

}  // namespace rushlight::microkernels
