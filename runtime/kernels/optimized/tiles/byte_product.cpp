#include "kernels/optimized/tiles/byte_product.h"

#include <algorithm>
#include <cstring>

namespace rushlight::tiles {

namespace {

// Bytes of left rows that stay in a second level cache beside the right operand's panels.
constexpr int64_t kBlockBytes = 160 * 1024;
constexpr int64_t kMostRows = 16, kMostColumns = 64;
// Of sums, which become results before they leave the first level cache.
constexpr int64_t kSumBytes = 8 * 1024;
static_assert(kSumBytes >= kMostRows * kMostColumns * 4);
// Columns that are taken as they lie at once, and rows.
constexpr int64_t kDotColumns = 16, kDotRows = 63;

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Left rows lie so many numbers apart: an odd number of cache lines, so that rows are spread over the cache's sets.
int64_t left_stride(const ByteTiles& tiles, int64_t k) {
  const int64_t line = 64 / tiles.left_size;
  return round_up(k, line) / line % 2 == 1 ? round_up(k, line) : round_up(k, line) + line;
}

int64_t block_rows(const ByteTiles& tiles, int64_t k) {
  const int64_t most = kBlockBytes / std::max<int64_t>(1, left_stride(tiles, k) * tiles.left_size);
  return std::min<int64_t>(std::max<int64_t>(most / tiles.rows, 1), 16) * tiles.rows;
}

int64_t sums_bytes(int64_t n) { return round_up(n * 4, 64); }

int panel_vectors(const ByteTiles& tiles, int64_t columns) {
  return static_cast<int>((columns + tiles.lanes - 1) / tiles.lanes);
}

Requantize requantize_of(const ByteProduct& p, int64_t column, const int32_t* correction) {
  Requantize how = p.requantize;
  how.correction = correction;
  how.multiplier += column;
  if (how.offset) how.offset += column;
  return how;
}

// Of rows from `row` on.
Dequantize dequantize_of(const ByteTiles& tiles, const ByteProduct& p, int64_t row, int64_t column,
                         const int32_t* right_sums) {
  return {p.zeros + row * p.row_step,
          p.scales + row * p.row_step,
          p.row_step,
          tiles.left_offset,
          right_sums,
          p.multiplier + column,
          p.offset ? p.offset + column : nullptr,
          p.least,
          p.most,
          p.accumulate};
}

// Sums of rows from `row` and columns from `column` on become results.
void finish(const ByteTiles& tiles, const ByteProduct& p, int64_t row, int64_t column, const SumRows& rows,
            const int32_t* right_sums, const int32_t* correction) {
  const int64_t at = row * p.out_stride + column;
  switch (p.out_kind) {
    case ByteProduct::Out::Bytes: {
      Requantize how = requantize_of(p, column, correction);
      if (how.sum.others) how.sum.others += at;
      return tiles.requantize(how, rows, static_cast<uint8_t*>(p.out) + at);
    }
    case ByteProduct::Out::Floats:
      return tiles.dequantize(dequantize_of(tiles, p, row, column, right_sums), rows, static_cast<float*>(p.out) + at);
    case ByteProduct::Out::Sums:
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

// `rows` rows of the left operand, `depth` numbers each, from row `row` on.
void read_left(const ByteTiles& tiles, const ByteProduct& p, int64_t row, int64_t rows, int64_t depth, int64_t stride,
               uint8_t* left) {
  // Numbers between p.k and depth are multiplied by zeros.
  if (p.gather && p.gather_rows) return p.gather_rows(p.context, row, rows, stride * tiles.left_size, left);
  if (!p.gather && tiles.pack_rows) {
    return tiles.pack_rows({p.left + row * p.left_stride, p.left_stride, p.flip, p.k, stride}, rows, left);
  }
  for (int64_t i = 0; i < rows; ++i) {
    uint8_t* const to = left + i * stride * tiles.left_size;
    if (p.gather) {
      p.gather(p.context, row + i, to);
    } else {
      tiles.pack_left(p.left + (row + i) * p.left_stride, p.flip, p.k, to);
    }
    if (depth != p.k) tiles.fill_left(0, depth - p.k, to + p.k * tiles.left_size);
  }
}

// Whether rows of the left operand are read where they lie, which must not all be in one set of a cache.
bool lies_in_form(const ByteTiles& tiles, const ByteProduct& p) {
  constexpr int64_t kMostConflicts = 4096;
  return !p.gather && !p.windows && tiles.left_size == 1 && tiles.left_offset == p.flip && p.k % tiles.group == 0 &&
         p.left_stride % kMostConflicts != 0;
}

// As multiply(), with columns as they lie. A row of ones above the left operand gives the columns' sums.
void multiply_columns(const ByteTiles& tiles, const ByteProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                      int32_t* sums, uint8_t* left) {
  const int64_t stride = left_stride(tiles, p.k);
  const int64_t depth = round_up(p.k, tiles.dot_step);
  const int64_t most = std::min(block_rows(tiles, p.k), kDotRows + 1) - 1;
  uint8_t* const first = left + stride * tiles.left_size;
  tiles.fill_left(static_cast<int8_t>(1 - tiles.left_offset), depth, left);
  for (int64_t row = m0; row < m1; row += most) {
    const int64_t rows = std::min(most, m1 - row);
    read_left(tiles, p, row, rows, depth, stride, first);
    for (int64_t column = n0; column < n1; column += kDotColumns) {
      const int64_t columns = std::min(kDotColumns, n1 - column);
      tiles.dots(rows + 1, columns,
                 {left, stride, p.columns + column * p.column_stride, p.column_stride, p.k, sums, kDotColumns});
      int32_t correction[kDotColumns];
      if (p.out_kind == ByteProduct::Out::Bytes) {
        for (int64_t j = 0; j < columns; ++j) {
          const int32_t bias = p.requantize.correction ? p.requantize.correction[column + j] : 0;
          correction[j] = bias - (p.zeros[0] + tiles.left_offset) * sums[j];
        }
      }
      finish(tiles, p, row, column, {sums + kDotColumns, kDotColumns, rows, columns, p.out_stride}, sums, correction);
      if (p.finish) p.finish(p.finish_context, row, rows, column, columns);
    }
  }
}

int64_t part_of(int64_t count, int64_t most) {
  const int64_t parts = (count + most - 1) / most;
  return (count + parts - 1) / parts;
}

// The left operand of the next tile, of windows from `row` on; gives its rows: of one line, or of two short ones.
int64_t next_windows(const ByteTiles& tiles, const ByteWindows& w, int64_t row, int64_t rows, ByteTile* tile) {
  const int64_t line = row / w.width, x = row - line * w.width;
  tile->left = w.first + line * w.line_step + x * w.row_step;
  const bool is_of_two = x == 0 && 2 * w.width <= std::min<int64_t>(rows, tiles.rows);
  const int64_t count = is_of_two ? 2 * w.width : part_of(std::min(rows, w.width - x), tiles.rows);
  tile->half_step = is_of_two ? w.line_step : (count + 1) / 2 * w.row_step;
  return count;
}

// A tile whose sums become results while the next one's are computed.
struct Behind {
  bool is_there = false;
  TileEnd end;
  PanelEnd panels[2];  // that tile's, and another one
};

// One panel of columns from `column` on, for `rows` rows from `row` on, whose left operand is `left`.
void multiply_results(const ByteTiles& tiles, const ByteProduct& p, ByteTile tile, int64_t row, int64_t rows,
                      int64_t column, int64_t columns, const uint8_t* left, Behind* behind) {
  const bool is_bytes = p.out_kind == ByteProduct::Out::Bytes;
  const int vectors = static_cast<int>(tile.sums_stride / tiles.lanes);
  const int32_t* const sums_of_right = right_sums(p.right) + column;
  const int32_t* const correction = p.requantize.correction ? p.requantize.correction + column : nullptr;
  const int64_t size = is_bytes ? 1 : sizeof(float);
  PanelEnd& panel = behind->panels[behind->is_there && behind->end.panel == behind->panels];
  Dequantize reals{};
  TileEnd end{&panel, is_bytes ? nullptr : &reals, nullptr, p.out_stride, columns};
  bool can_wait = false;
  if (p.windows) tile.groups = p.windows->run / tiles.group, tile.runs = p.windows->runs;
  if (is_bytes) {
    can_wait = tiles.prepare_bytes(vectors, requantize_of(p, column, correction), columns, &panel);
  } else {
    tiles.prepare_reals(vectors, dequantize_of(tiles, p, row, column, sums_of_right), columns, &panel);
  }
  can_wait = can_wait && tiles.gemm_behind && tile.groups >= kLeastBehind;
  end.flips_others = p.requantize.sum.flip != 0;
  for (int64_t i = 0, count = 0; i < rows; i += count) {
    if (p.windows) {
      count = next_windows(tiles, *p.windows, row + i, rows - i, &tile);
    } else {
      const int64_t below = rows - i - tiles.rows;
      count = can_wait && (below >= tiles.rows / 2 || below == 0) ? tiles.rows : part_of(rows - i, tiles.rows);
      tile.left = left + i * tile.left_stride * tiles.left_size;
      tile.half_step = (count + 1) / 2 * tile.left_stride;
    }
    const int64_t at = (row + i) * p.out_stride + column;
    if (!is_bytes) reals = dequantize_of(tiles, p, row + i, column, sums_of_right);
    if (is_bytes && p.requantize.sum.others) end.others = p.requantize.sum.others + at;
    end.out = static_cast<uint8_t*>(p.out) + at * size;
    if (can_wait && count == tiles.rows) {
      tiles.gemm_behind(tile, end, behind->is_there ? &behind->end : nullptr);
      behind->is_there = true;
      behind->end = end;
    } else {
      tiles.gemm_results(static_cast<int>(count), vectors, tile, end);
    }
    tile.ahead += tile.runs * tile.groups * tile.ahead_step;
  }
}

}  // namespace

size_t packed_right_size(const ByteTiles& tiles, int64_t n, int64_t k) {
  return static_cast<size_t>(sums_bytes(n) + round_up(n, tiles.lanes) * round_up(k, tiles.group));
}

void pack_right(const ByteTiles& tiles, const int8_t* from, int64_t stride, int64_t n, int64_t k, void* to) {
  pack_columns(tiles, from, stride, n, k, 0, n, to);
}

void pack_columns(const ByteTiles& tiles, const int8_t* from, int64_t stride, int64_t n, int64_t k, int64_t n0,
                  int64_t n1, void* to) {
  const int64_t depth = round_up(k, tiles.group);
  int8_t* const panels = static_cast<int8_t*>(to) + sums_bytes(n);
  for (int64_t column = n0; column < n1; column += column_step(tiles)) {
    const int64_t filled = std::min(column_step(tiles), n - column);
    const int64_t width = panel_vectors(tiles, filled) * int64_t{tiles.lanes};
    if (tiles.group == 8) {
      pack_panel<8>(from + column * stride, stride, filled, width, k, panels + column * depth);
    } else if (tiles.group == 4) {
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

const int32_t* right_sums(const void* packed) { return static_cast<const int32_t*>(packed); }

void zero_corrections(const ByteTiles& tiles, const void* packed, int64_t n, int32_t zero, const int32_t* bias,
                      int32_t* to) {
  const int32_t* const sums = right_sums(packed);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t exact = (bias ? bias[j] : 0) - (int64_t{zero} + tiles.left_offset) * sums[j];
    to[j] = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
  }
}

size_t product_scratch(const ByteTiles& tiles, int64_t k) {
  const int64_t left = block_rows(tiles, k) * left_stride(tiles, k) * tiles.left_size;
  return static_cast<size_t>(kSumBytes + round_up(left, 64));
}

void multiply(const ByteTiles& tiles, const ByteProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
              void* scratch) {
  int32_t* const sums = static_cast<int32_t*>(scratch);
  uint8_t* const left = static_cast<uint8_t*>(scratch) + kSumBytes;
  if (p.right == nullptr) return multiply_columns(tiles, p, m0, m1, n0, n1, sums, left);
  const bool in_place = lies_in_form(tiles, p);
  const int64_t stride = p.windows ? p.windows->row_step : in_place ? p.left_stride : left_stride(tiles, p.k);
  const int64_t depth = round_up(p.k, tiles.group);
  const int64_t step = column_step(tiles);
  const int8_t* const panels = panels_of(p.right, p.n);
  const int64_t block = p.windows ? std::max<int64_t>(1, m1 - m0) : block_rows(tiles, p.k);

  Behind behind;
  for (int64_t row = m0; row < m1;) {
    // Blocks of about one size, so that no tile is much smaller than the others.
    const int64_t blocks = (m1 - row + block - 1) / block;
    const int64_t rows = (m1 - row + blocks - 1) / blocks;
    const uint8_t* from = in_place ? p.left + row * stride : left;
    if (!p.windows && !in_place) read_left(tiles, p, row, rows, depth, stride, left);
    const int64_t tiles_down = (rows + tiles.rows - 1) / tiles.rows;
    for (int64_t column = n0; column < n1; column += step) {
      const int64_t columns = std::min(step, n1 - column);
      const int vectors = panel_vectors(tiles, std::min(step, p.n - column));
      ByteTile tile{nullptr, stride, panels + column * depth, depth / tiles.group, sums, vectors * tiles.lanes, false};
      if (p.windows) tile.run_step = p.windows->run_step;
      if (tiles.gemm_results && p.out_kind != ByteProduct::Out::Sums) {
        // What is read next, if it was not before: a slice with each tile.
        const int64_t panel_bytes = depth * tile.sums_stride;
        const int8_t* next = nullptr;
        int64_t bytes = panel_bytes;
        if (column + columns < n1) {
          if (row == m0) next = tile.right + panel_bytes;
        } else if (row + rows == m1) {
          next = p.ahead, bytes = p.ahead_bytes;
        }
        tile.ahead = next ? next : tile.right;
        if (next) tile.ahead_step = std::min<int64_t>(64, bytes / (tile.groups * tiles_down) + 1);
        multiply_results(tiles, p, tile, row, rows, column, columns, from, &behind);
        if (p.finish) p.finish(p.finish_context, row, rows, column, columns);
        continue;
      }
      const int32_t* const sums_of_right = right_sums(p.right) + column;
      const int32_t* const correction = p.requantize.correction ? p.requantize.correction + column : nullptr;
      const int64_t most = kSumBytes / (4 * tile.sums_stride) - tiles.rows;
      for (int64_t i = 0, done = 0, t = 0; t < tiles_down; ++t) {
        const int64_t count = (rows - i + tiles_down - t - 1) / (tiles_down - t);
        tile.left = from + i * stride * tiles.left_size;
        tile.sums = sums + (i - done) * tile.sums_stride;
        tiles.gemm(static_cast<int>(count), vectors, tile);
        i += count;
        if (i < rows && i - done <= most) continue;
        finish(tiles, p, row + done, column, {sums, tile.sums_stride, i - done, columns, p.out_stride}, sums_of_right,
               correction);
        done = i;
      }
      if (p.finish) p.finish(p.finish_context, row, rows, column, columns);
    }
    row += rows;
  }
  if (behind.is_there) tiles.finish_behind(sums, behind.end);
}

}  // namespace rushlight::tiles
