#include "microkernels/gemm/f32_panels.h"

#include <algorithm>

#include "core/rounding.h"
#include "microkernels/image.h"

namespace rushlight::microkernels {

void pack(const F32Microkernels& kernels, bool is_transposed, const float* b, int64_t ldb, int64_t k, int64_t n,
          float* to) {
  const Packing packing = packing_of(kernels);
  for (int64_t j = 0; j < n; j += packing.panel) {
    const int64_t columns = std::min(packing.panel, n - j);
    const int vectors = static_cast<int>(packing.columns(columns) / packing.vector);
    if (is_transposed) {
      kernels.pack_transposed(vectors, b + j * ldb, ldb, k, columns, to + j * k);
    } else {
      kernels.pack_rows(vectors, b + j, ldb, k, columns, to + j * k);
    }
  }
}

ScaledColumns GroupedMatrix::part(int64_t column, int64_t count, int64_t first, int64_t last) const {
  const int64_t groups = depth / group, at = column * row_bytes() + (is_int4 ? first / 2 : first);
  return {numbers + at, is_int4, row_bytes(),  scales + column * groups + first / group,
          groups,       count,   last - first, group - first % group,
          group};
}

namespace {

// Weights of at most kFewWeightBytes stay in the L2 cache. An LHS of at least kManyRowBytes is then prefetched instead
// of the weights.
constexpr int64_t kFewWeightBytes = 192 * 1024, kManyRowBytes = 48 * 1024;
constexpr int64_t kMaxTileFloats = 14 * 64;  // results of the largest tile: 14 rows, 64 columns

// A part of the terms of all sums: terms [first, last) of each of the taps [tap, taps_end). A GEMM adds the parts of a
// result one after the other. Between two parts, the result in memory is the sum of the parts so far.
struct Part {
  int64_t tap, taps_end, first, last;

  bool is_first() const { return tap == 0 && first == 0; }
  bool is_last(const Panels& p) const { return taps_end == p.taps && last == p.k; }
};

// Returns part `index` of the sums, which are divided into `count` parts: into ranges of taps, or into ranges of the
// terms of a single tap. Such a range begins at an even term, because bfloat16 terms are multiplied in pairs.
Part part_at(const Panels& p, int64_t index, int64_t count) {
  if (p.taps > 1) return {p.taps * index / count, p.taps * (index + 1) / count, 0, p.k};
  const auto begin_of = [&](int64_t i) { return std::min(p.k, round_up(p.k * i / count, 2)); };
  return {0, 1, begin_of(index), begin_of(index + 1)};
}

// Returns whether 16-bit weights are converted to float32 in registers. With few rows, each weight is used so rarely
// that this is faster than converting a panel in memory.
inline bool has_pairs(const Panels& p) { return kHasF16 && p.pairs; }
inline bool converts_in_registers(const Panels& p) {
  return p.b.is_f16() && !has_pairs(p) && p.m <= p.kernels->gemm_rows && p.kernels->packed->f16_panel;
}

// Returns how rows are divided into tiles that are multiplied with bfloat16 pairs.
RowDivision rounded_tiles(const Panels& p) { return {p.m, p.pairs->rows, p.kernels->packed->has_all_rows}; }

// Rounds the LHS of a part to bfloat16, for all tiles.
void round_rows(const Panels& p, const Part& part) {
  const int64_t k = part.last - part.first;
  const RowDivision division = rounded_tiles(p);
  for (int64_t g = 0, m = 0; g < division.groups; m += division.count(g), ++g) {
    const int rows = static_cast<int>(division.count(g));
    p.pairs->pack_lhs(p.rows + m, p.channel + part.first, rows, k, p.rounded + m * padded_pairs(k));
  }
}

// The width of the tiles of a panel. A tile has whole vectors, or half vectors (see F32HalfMicrokernels).
struct TileShape {
  int vectors;  // vectors of the panel
  int halves;   // half vectors; 0 if the tile has whole vectors
};

TileShape shape_of(const Panels& p, int vectors, int64_t columns) {
  if (!p.halves || has_pairs(p) || converts_in_registers(p)) return {vectors, 0};
  constexpr int64_t kMaxHalves = 3;  // wider panels have tiles of whole vectors
  const int64_t halves = divide_up(columns, p.halves->width);
  return {vectors, halves <= kMaxHalves ? static_cast<int>(halves) : 0};
}

// Returns the maximum number of rows of a tile that is not multiplied with bfloat16 pairs.
int64_t max_rows(const Panels& p, const TileShape& shape) {
  int64_t most = p.kernels->gemm_rows;
  if (shape.halves > 0) {
    most = p.halves->rows[shape.halves - 1];
  } else if (!converts_in_registers(p)) {
    if (shape.vectors == 1) most = p.kernels->packed->narrow_rows;
    if (shape.vectors == 2 && p.halves) most = p.halves->whole_rows;
  }
  return tile_rows(most, p.row_gap);
}

int64_t panel_columns(const Panels& p) { return p.kernels->gemm_vectors * p.kernels->width; }
// Returns the number of columns of packed weights from `column` to the end of its panel.
int64_t packed_columns(const Panels& p, int64_t column) {
  return packing_of(*p.kernels).columns(std::min(panel_columns(p), p.n - column));
}

// Returns the packed weights of a part, in the panel that begins at `column`.
PackedWeights weights_of(const Panels& p, int64_t column, const Part& part) {
  return p.b.from(column * p.taps * p.k + (part.tap * p.k + part.first) * packed_columns(p, column));
}

// Returns the memory of the packed weights of a part, which is prefetched before the part is computed.
Ahead ahead_of(const Panels& p, int64_t column, const Part& part) {
  if (p.b.is_grouped()) {
    const int64_t bytes = p.b.grouped->row_bytes();
    return {p.b.grouped->numbers + column * bytes, std::min(panel_columns(p), p.n - column) * bytes};
  }
  const PackedWeights b = weights_of(p, column, part);
  const int64_t terms = (part.taps_end - part.tap) * (part.last - part.first) * packed_columns(p, column);
  if (b.is_f16()) return {b.f16, terms * static_cast<int64_t>(sizeof(uint16_t))};
  return {b.floats, terms * static_cast<int64_t>(sizeof(float))};
}

// Divides the sums of a part into partial sums of about kTermsOfSum terms: several taps each, or a range of the terms
// of one tap.
void divide_sums(PanelTile& part) {
  // 384 terms, a common number, are not divided.
  const int64_t of_tap = std::max<int64_t>(1, (part.k + kTermsOfSum / 2 - 1) / kTermsOfSum);
  part.sum_taps = std::max<int64_t>(1, kTermsOfSum / std::max<int64_t>(1, part.k));
  part.sum_terms = round_up(divide_up(part.k, of_tap), 4);
}

void multiply_rows(const Panels& p, int rows, const TileShape& shape, const PanelTile& tile) {
  if (converts_in_registers(p)) {
    p.kernels->packed->f16_panel(p.b.type, rows, shape.vectors, tile);
  } else if (shape.halves > 0) {
    p.halves->panel(rows, shape.halves, tile);
  } else {
    p.kernels->packed->panel(rows, shape.vectors, tile);
  }
}

// Returns whether all rows of a tile are padding for these taps.
bool is_padding(const Panels& p, const float* const* rows, int64_t count, int64_t taps) {
  if (!p.zeros) return false;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t i = 0; i < count; ++i) {
      if (rows[tap * p.row_step + i] != p.zeros) return false;
    }
  }
  return true;
}

// Computes a tile of a part without the partial sums whose rows are all padding. With 5 taps, sum_taps 1 and padding
// at taps 0 and 2, it computes tap 1, then taps 3 and 4: one call of the tile function for each sequence of taps that
// remain. `totals` passes the sums from one call to the next; only the last call writes results.
void multiply_without_padding(const Panels& p, int rows, const TileShape& shape, const PanelTile& part) {
  const int64_t item = converts_in_registers(p) ? sizeof(uint16_t) : sizeof(float);
  const int64_t step = shape.vectors * p.kernels->width;
  // A partial sum consists of the taps from `tap` to sum_end(tap).
  const auto sum_end = [&](int64_t tap) { return std::min(part.taps, tap + part.sum_taps); };
  const auto is_skipped = [&](int64_t tap) {
    return is_padding(p, part.rows + tap * part.row_step, rows, sum_end(tap) - tap);
  };
  int64_t last = (part.taps - 1) / part.sum_taps * part.sum_taps;  // the first tap of the last sum that is computed
  while (last > 0 && is_skipped(last)) last -= part.sum_taps;
  bool continues = false;
  for (int64_t end = 0; end <= last;) {
    int64_t begin = end;
    while (begin < last && is_skipped(begin)) begin = sum_end(begin);
    end = sum_end(begin);
    while (end <= last && !is_skipped(end)) end = sum_end(end);
    PanelTile tile = part;
    tile.rows += begin * part.row_step;
    tile.taps = end - begin;
    tile.b = static_cast<const char*>(part.b) + begin * part.k * step * item;
    if (part.ahead) tile.ahead = static_cast<const char*>(part.ahead) + begin * part.k * part.ahead_step;
    tile.continues = continues;
    if (end <= last) {
      tile.c = part.totals;
      tile.c_step = tile.columns = shape.halves > 0 ? shape.halves * p.halves->width : step;
      tile.bias = nullptr;
      tile.epilogue = Epilogue{};
    }
    multiply_rows(p, rows, shape, tile);
    continues = true;
  }
}

// Computes a tile of rows [m, m + rows) with bfloat16 pairs. The sums start with the residual. The residual of the next
// tile is prefetched.
void multiply_pairs(const Panels& p, int64_t m, int rows, int vectors, const PanelTile& part) {
  PanelTile tile = part;
  tile.addend = part.epilogue.residual;
  tile.addend_step = part.epilogue.residual_step;
  tile.epilogue.residual = nullptr;
  if (tile.addend) {
    const int64_t end = std::min<int64_t>(rows + p.pairs->rows, p.m - m);
    for (int64_t i = rows; i < end; ++i) fetch(tile.addend + i * tile.addend_step, tile.columns);
  }
  p.pairs->panel(rows, vectors, {p.rounded + m * padded_pairs(tile.k), tile, p.shapes});
}

// Returns the weights of a part as the tile functions read them. Unless they are converted in registers, 16-bit weights
// and grouped matrices are converted to p.widened.
const void* readable_weights(const Panels& p, int64_t column, const Part& part, int64_t terms) {
  if (p.b.is_grouped()) {
    const int64_t count = std::min(panel_columns(p), p.n - column);
    int8_microkernels().dequantize_panel(p.b.grouped->part(column, count, part.first, part.last),
                                         packed_columns(p, column), p.widened);
    return p.widened;
  }
  const PackedWeights b = weights_of(p, column, part);
  if (!b.is_f16()) return b.floats;
  if (converts_in_registers(p)) return b.f16;
  const int64_t columns = packed_columns(p, column);
  if (has_pairs(p)) {
    p.pairs->pack_rhs(b.f16, terms, columns, reinterpret_cast<uint32_t*>(p.widened));
  } else {
    widen(b.type, b.f16, terms * columns, p.widened);
  }
  return p.widened;
}

// Returns what all tiles of a panel have in common in a part: the sizes, the weights, and what is done with the sums.
// `rows`, `c` and the address of the residual are missing. The operator `op` of the epilogue is not included, because
// it would delay each tile.
PanelTile common_tile(const Panels& p, int64_t column, const Part& part) {
  PanelTile tile{};
  tile.row_step = p.row_step;
  tile.first = p.channel + part.first;
  tile.taps = part.taps_end - part.tap;
  tile.k = part.last - part.first;
  tile.c_step = p.c_step;
  tile.columns = std::min(panel_columns(p), p.n - column);
  tile.b = readable_weights(p, column, part, tile.taps * tile.k);
  if (part.is_last(p)) {
    tile.bias = p.bias ? p.bias + column : nullptr;
    tile.epilogue = p.epilogue;
    tile.epilogue.applies = false;
  }
  tile.epilogue.residual_step = part.is_first() ? p.epilogue.residual_step : p.c_step;
  divide_sums(tile);
  return tile;
}

// Returns whether each tile prefetches the rows of the next tile, instead of a slice of the weights that are read next.
// The rows must be contiguous in memory.
bool prefetches_rows(const Panels& p, const Part& part, int64_t tile_rows) {
  const bool has_whole_rows = p.taps == 1 && part.is_first() && part.is_last(p);
  const int64_t weight_bytes = p.k * p.n * 4, row_bytes = p.m * p.k * 4;
  return has_whole_rows && weight_bytes <= kFewWeightBytes && row_bytes >= kManyRowBytes && p.m > tile_rows &&
         p.rows[1] - p.rows[0] == p.k;
}

// Computes a part of the sums of the panel that begins at `column`, for all rows. is_first_panel: no other panel was
// computed before for these rows and this part. `ahead` is the memory that is read after this panel.
void multiply_panel(const Panels& p, int64_t column, const Part& part, bool is_first_panel, const Ahead& ahead) {
  PanelTile tile = common_tile(p, column, part);
  const int vectors = static_cast<int>(packed_columns(p, column) / p.kernels->width);
  const TileShape shape = shape_of(p, vectors, tile.columns);
  const int64_t most = max_rows(p, shape);
  const RowDivision division =
      has_pairs(p) ? rounded_tiles(p) : RowDivision(p.m, most, p.kernels->packed->has_all_rows);
  alignas(64) float totals[kMaxTileFloats];
  tile.totals = totals;
  const bool is_first_part = part.is_first();
  const bool is_middle_part = !is_first_part && !part.is_last(p);
  // The matrix that is added to the sums: after the first part, the sums of the earlier parts.
  const float* const addend = is_first_part ? p.epilogue.residual : p.c;
  const int64_t terms = tile.taps * tile.k;
  // Each tile prefetches a slice of the memory. A single tile prefetches every second cache line, because processors
  // load pairs of lines.
  if (ahead.bytes > 0) {
    tile.ahead = ahead.from;
    tile.ahead_step =
        std::min<int64_t>(division.groups == 1 ? 128 : 64, divide_up(ahead.bytes, terms * division.groups));
  }
  const bool fetches_rows = is_first_panel && prefetches_rows(p, part, most);
  const bool skips_padding = p.zeros && tile.taps > tile.sum_taps;
  for (int64_t g = 0, m = 0; g < division.groups; ++g) {
    const int64_t count = division.count(g);
    tile.rows = p.rows + part.tap * p.row_step + m;
    tile.c = p.c + m * p.c_step + column;
    tile.epilogue.residual = addend ? addend + m * tile.epilogue.residual_step + column : nullptr;
    if (is_first_part && p.fetches_output) {
      for (int64_t i = 0; i < count; ++i) fetch_to_write(tile.c + i * tile.c_step, tile.columns);
    }
    if (fetches_rows) {
      tile.ahead = m + count < p.m ? p.rows[m + count] : nullptr;
      tile.ahead_step = count * static_cast<int64_t>(sizeof(float));
    }
    if (is_middle_part && is_padding(p, tile.rows, count, tile.taps)) {
      // This part adds nothing to the sums in c.
    } else if (has_pairs(p)) {
      multiply_pairs(p, m, static_cast<int>(count), vectors, tile);
    } else if (skips_padding) {
      multiply_without_padding(p, static_cast<int>(count), shape, tile);
    } else {
      multiply_rows(p, static_cast<int>(count), shape, tile);
    }
    if (tile.ahead) tile.ahead = static_cast<const char*>(tile.ahead) + terms * tile.ahead_step;
    m += count;
  }
  if (part.is_last(p) && p.epilogue.applies) {
    p.kernels->packed->apply(p.epilogue, p.c + column, p.c_step, p.m, tile.columns);
  }
}

// Returns whether each product of a grouped GEMM is one panel and one sum, so that its tiles need no further division.
bool is_one_panel(const Panels& p) {
  return p.n <= panel_columns(p) && p.b.floats && !p.pairs && p.bias == nullptr && p.epilogue.residual == nullptr &&
         !p.epilogue.applies && p.taps * p.k <= kTermsOfSum && !p.fetches_output;
}

// Computes the tiles of all groups. is_one_panel() must be true.
void multiply_panels_of_groups(const Panels& p, int64_t groups) {
  PanelTile tile{};
  tile.row_step = p.row_step;
  tile.taps = p.taps;
  tile.k = p.k;
  tile.c_step = p.c_step;
  tile.columns = p.n;
  tile.epilogue = p.epilogue;
  const int64_t packed = packing_of(*p.kernels).columns(p.n);
  const TileShape shape = shape_of(p, static_cast<int>(packed / p.kernels->width), p.n);
  const RowDivision division(p.m, max_rows(p, shape), p.kernels->packed->has_all_rows);
  for (int64_t group = 0; group < groups; ++group) {
    tile.b = p.b.floats + group * p.taps * p.k * packed;
    tile.first = p.channel + group * p.k;
    for (int64_t g = 0, m = 0; g < division.groups; ++g) {
      const int64_t count = division.count(g);
      tile.rows = p.rows + m;
      tile.c = p.c + m * p.c_step + group * p.n;
      multiply_rows(p, static_cast<int>(count), shape, tile);
      m += count;
    }
  }
}

}  // namespace

void multiply_groups(const Panels& first, int64_t groups) {
  if (is_one_panel(first)) return multiply_panels_of_groups(first, groups);
  const Packing packing = packing_of(*first.kernels);
  const int64_t panels = divide_up(first.n, packing.panel), matrix = first.taps * first.k * packing.columns(first.n);
  for (int64_t group = 0; group < groups; ++group) {
    Panels p = first;
    p.channel += group * p.k;
    p.b = p.b.from(group * matrix);
    if (p.bias) p.bias += group * p.n;
    p.c += group * p.n;
    if (p.epilogue.residual) p.epilogue.residual += group * p.n;
    if (group + 1 < groups) {
      const int64_t columns = std::min(packing.panel, packing.columns(p.n));
      p.ahead = {first.b.from((group + 1) * matrix).floats,
                 p.taps * p.k * columns * static_cast<int64_t>(sizeof(float))};
    }
    multiply(p, 0, panels);
  }
}

int64_t depth_of_part(int64_t taps, int64_t k) {
  if (taps == 1) return std::min(k, kMaxDepth);
  return taps * k <= 4 * kMaxDepth ? taps * k : std::max<int64_t>(1, kMaxDepth / k) * k;
}

void multiply(const Panels& given, int64_t p0, int64_t p1) {
  PairTileShapes shapes;
  Panels p = given;
  p.shapes = &shapes;
  const int64_t panel = panel_columns(p), panels = p1 - p0;
  const int64_t depth = p.taps * p.k;
  // With few rows, all parts of a panel are computed before the next panel, in the order of the weights in memory. This
  // is not possible if rows are rounded, because there is scratch memory for one part of them.
  const bool is_few = p.m <= 2 * p.kernels->gemm_rows && !has_pairs(p);
  const int64_t parts = (depth - 1) / depth_of_part(p.taps, p.k) + 1;
  // Step i computes one part of one panel.
  const int64_t steps = panels * parts;
  const auto part_of = [&](int64_t i) { return part_at(p, is_few ? i % parts : i / panels, parts); };
  const auto column_of = [&](int64_t i) { return (p0 + (is_few ? i / parts : i % panels)) * panel; };
  const bool has_next_panel = p1 * panel < p.n;
  const Ahead after_last =
      p.ahead.bytes == 0 && has_next_panel ? ahead_of(p, p1 * panel, part_at(p, 0, parts)) : p.ahead;
  for (int64_t i = 0; i < steps; ++i) {
    const Part part = part_of(i);
    const int64_t column = column_of(i);
    const bool is_first_panel = column == p0 * panel;
    if (is_first_panel && has_pairs(p)) round_rows(p, part);
    const Ahead ahead = i + 1 < steps ? ahead_of(p, column_of(i + 1), part_of(i + 1)) : after_last;
    multiply_panel(p, column, part, is_first_panel, ahead);
  }
  if (shapes.rows != 0) p.pairs->release();
}

}  // namespace rushlight::microkernels
