#include "microkernels/gemm/block.h"

#include <algorithm>

#include "core/rounding.h"
#include "microkernels/workers.h"

namespace rushlight::microkernels {

namespace {

constexpr int64_t kMaxRows = 240;
constexpr int64_t kMaxColumns = 64;  // of a panel
// The maximum number of bytes of converted rows. They stay in the L2 cache while they are multiplied by all panels.
int64_t block_bytes(const F32Microkernels& kernels) { return (kernels.width >= 16 ? 512 : 208) * 1024; }

}  // namespace

void BlockMatrix::widen(const uint32_t* panel, int64_t columns, int64_t first, int64_t last, float* to) const {
  const float* const scales = reinterpret_cast<const float*>(panel + blocks * pairs * columns);
  for (int64_t block = first; block < last; ++block) {
    const int64_t begin = 2 * pairs * block, end = std::min(k, begin + 2 * pairs);
    for (int64_t l = begin; l < end; ++l, to += columns) {
      const uint32_t* const words = panel + l / 2 * columns;
      for (int64_t j = 0; j < columns; ++j) {
        const int16_t number = static_cast<int16_t>(l % 2 ? words[j] >> 16 : words[j]);
        to[j] = static_cast<float>(number) * scales[block * columns + j];
      }
    }
  }
}

// Adjacent rows, which are converted at a time. A row that cannot be converted to blocks is plain: it stays float32.
struct BlockGemm::Part {
  const float* in;  // the operands of the first row
  float* out;
  const float* residual;  // or null
  int64_t m;              // number of rows
  uint32_t* words;        // the converted rows, row_words() apart
  float* scales;          // [m, blocks]
  uint8_t* is_plain;      // [m]
  bool has_plain;
  float* widened;  // scratch memory for blocks of a panel as floats
  Ahead ahead;     // memory that is read after the part
};

// The blocks [first, last) of a panel.
struct BlockGemm::Panel {
  int64_t first, last;
  int64_t column;         // the first column of the panel in the matrix
  int64_t stored;         // number of columns, rounded up to vectors
  const uint32_t* words;  // all blocks of the panel
  const float* addend;    // column `column` of the first row that is added to the sums, or null
  bool is_widened;        // whether Part::widened contains these blocks
  bool applies;           // whether the operator of the epilogue is applied to the results
  int vectors;
  BlockTile tile;
};

void BlockGemm::prepare(int64_t rows, int64_t in_step, int64_t out_step, int64_t residual_step) {
  rows_ = rows;
  in_step_ = in_step, out_step_ = out_step, residual_step_ = residual_step;
  const int64_t most = std::min({kMaxRows, block_bytes(*kernels) / (4 * row_words()), rows + kernels->gemm_rows - 1});
  block_ = std::max<int64_t>(1, most / kernels->gemm_rows) * kernels->gemm_rows;
}

// Returns whether the columns, and not the rows, are divided among the workers. Each worker then converts all rows.
bool BlockGemm::is_by_columns(int64_t workers) const {
  return workers > 1 && rows_ < 2 * workers * kernels->gemm_rows && panels() >= workers;
}

FirstWeights BlockGemm::first_weights(int64_t workers) const {
  const int64_t columns = std::min(packing().panel, packing().columns(weights.n));
  return {weights.words, weights.rows() * columns * 4, is_by_columns(workers) ? panels() : 1};
}

void BlockGemm::run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out, const float* residual,
                    float* scratch, const FirstWeights& next) const {
  if (rows_ == 0) return;
  if (work() / 2 < kSerialWork) workers = 1;
  const auto run_part = [&](int64_t worker, int64_t m0, int64_t m1, int64_t p0, int64_t p1, const Ahead& ahead) {
    if (m0 == m1) return;
    float* const own = scratch + worker * worker_floats();
    Part part{};
    part.words = reinterpret_cast<uint32_t*>(own);
    part.scales = own + block_ * row_words();
    part.is_plain = reinterpret_cast<uint8_t*>(part.scales + scale_floats());
    part.widened = part.scales + scale_floats() + round_up(block_, 16);
    // All blocks have similar numbers of rows.
    const int64_t count = round_up(divide_up(m1 - m0, divide_up(m1 - m0, block_)), kernels->gemm_rows);
    for (int64_t m = m0; m < m1; m += part.m) {
      part.m = std::min(count, m1 - m);
      part.in = in + m * in_step_;
      part.out = out + m * out_step_;
      part.residual = residual ? residual + m * residual_step_ : nullptr;
      part.ahead = m + part.m == m1 ? ahead : Ahead{};
      multiply(part, p0, p1);
    }
  };
  if (is_by_columns(workers)) {
    for_workers(context, workers, panels(), [&](int64_t worker, int64_t begin, int64_t end) {
      run_part(worker, 0, rows_, begin, end, next.after(worker, workers, end, panels()));
    });
    return;
  }
  // A multiple of the number of workers, so that all workers get the same number.
  const int64_t groups = round_up(divide_up(rows_, kernels->gemm_rows), workers);
  const int64_t least = std::max<int64_t>(1, kMinRows / kernels->gemm_rows);
  for_sharing_workers(context, workers, groups, least, [&](int64_t worker, int64_t begin, int64_t end) {
    run_part(worker, rows_ * begin / groups, rows_ * end / groups, 0, panels(),
             next.after(worker, workers, end, groups));
  });
}

void BlockGemm::multiply(Part& part, int64_t p0, int64_t p1) const {
  part.has_plain = false;
  for (int64_t i = 0; i < part.m; ++i) {
    part.is_plain[i] = !blocks->quantize(part.in + i * in_step_, weights.k, weights.blocks, weights.pairs,
                                         part.words + i * row_words(), part.scales + i * weights.blocks);
    part.has_plain |= part.is_plain[i] != 0;
  }
  const int64_t parts = divide_up(weights.blocks, kMaxBlocks);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = weights.blocks * i / parts, last = weights.blocks * (i + 1) / parts;
    for (int64_t p = p0; p < p1; ++p) {
      multiply_panel(part, p, first, last, i + 1 == parts && p + 1 == p1 ? part.ahead : Ahead{});
    }
  }
}

void BlockGemm::multiply_panel(const Part& part, int64_t index, int64_t first, int64_t last, const Ahead& ahead) const {
  Panel panel = make_panel(part, index, first, last);
  PanelTile& sums = panel.tile.panel;
  const RowDivision division(part.m, kernels->gemm_rows);
  set_ahead(panel, division.groups, ahead);
  for (int64_t g = 0, m = 0; g < division.groups; ++g) {
    const int64_t count = division.count(g);
    if (panel.addend) {
      const int64_t next = std::min(m + count + kernels->gemm_rows, part.m);
      for (int64_t i = m + count; i < next; ++i) fetch(panel.addend + i * sums.addend_step, sums.columns);
    }
    multiply_rows(part, panel, m, count);
    if (sums.ahead) {
      const int64_t steps = panel.tile.blocks * panel.tile.pairs;
      sums.ahead = static_cast<const char*>(sums.ahead) + steps * sums.ahead_step;
    }
    m += count;
  }
  if (panel.applies) kernels->packed->apply(epilogue, part.out + panel.column, out_step_, part.m, sums.columns);
}

BlockGemm::Panel BlockGemm::make_panel(const Part& part, int64_t index, int64_t first, int64_t last) const {
  const int64_t max_columns = packing().panel;
  Panel panel{};
  panel.first = first, panel.last = last;
  panel.column = index * max_columns;
  BlockTile& tile = panel.tile;
  PanelTile& sums = tile.panel;
  sums.columns = std::min(max_columns, weights.n - panel.column);
  panel.stored = packing().columns(sums.columns);
  panel.vectors = static_cast<int>(panel.stored / packing().vector);
  panel.words = weights.words + panel.column * weights.rows();
  tile.lhs_step = row_words();
  tile.lhs_scale_step = weights.blocks;
  tile.blocks = last - first;
  tile.pairs = weights.pairs;
  tile.rhs = panel.words + first * weights.pairs * panel.stored;
  tile.rhs_scales =
      reinterpret_cast<const float*>(panel.words + (weights.blocks * weights.pairs + first) * panel.stored);
  sums.c_step = out_step_;
  sums.bias = first == 0 && bias ? bias + panel.column : nullptr;
  const float* const addend = first == 0 ? part.residual : part.out;
  panel.addend = addend ? addend + panel.column : nullptr;
  sums.addend_step = first == 0 ? residual_step_ : out_step_;
  if (last == weights.blocks) sums.epilogue = epilogue;
  // The operator is applied to all rows at once, because it would delay each tile.
  panel.applies = sums.epilogue.applies;
  sums.epilogue.applies = false;
  return panel;
}

void BlockGemm::set_ahead(Panel& panel, int64_t groups, const Ahead& ahead) const {
  const int64_t max_columns = packing().panel;
  PanelTile& sums = panel.tile.panel;
  if (ahead.bytes > 0) {
    sums.ahead = ahead.from;
    sums.ahead_step = std::min<int64_t>(64, ahead.bytes / (panel.tile.blocks * panel.tile.pairs * groups) + 1);
  } else if (panel.column + 2 * max_columns <= weights.n) {
    sums.ahead = panel.tile.rhs + weights.rows() * max_columns;
    sums.ahead_step = divide_up(max_columns * 4, groups);
  }
}

void BlockGemm::multiply_rows(const Part& part, Panel& panel, int64_t m, int64_t count) const {
  const uint8_t* const plain = part.is_plain + m;
  if (!part.has_plain || std::none_of(plain, plain + count, [](uint8_t is) { return is != 0; })) {
    set_rows(part, panel, m);
    blocks->panel(static_cast<int>(count), panel.vectors, panel.tile);
    return;
  }
  if (!panel.is_widened) weights.widen(panel.words, panel.stored, panel.first, panel.last, part.widened);
  panel.is_widened = true;
  for (int64_t i = m; i < m + count; ++i) {
    set_rows(part, panel, i);
    if (part.is_plain[i]) {
      multiply_plain_row(part, panel, i);
    } else {
      blocks->panel(1, panel.vectors, panel.tile);
    }
  }
}

// Sets the operands of the tile whose first row is m.
void BlockGemm::set_rows(const Part& part, Panel& panel, int64_t m) const {
  BlockTile& tile = panel.tile;
  tile.lhs = part.words + m * row_words() + panel.first * weights.pairs;
  tile.lhs_scales = part.scales + m * weights.blocks + panel.first;
  tile.panel.c = part.out + m * out_step_ + panel.column;
  tile.panel.addend = panel.addend ? panel.addend + m * tile.panel.addend_step : nullptr;
}

void BlockGemm::multiply_plain_row(const Part& part, const Panel& panel, int64_t m) const {
  const float* const row = part.in + m * in_step_;
  PanelTile plain = panel.tile.panel;
  plain.rows = &row;
  plain.first = 2 * weights.pairs * panel.first;
  plain.taps = 1;
  plain.k = std::min(weights.k, 2 * weights.pairs * panel.last) - plain.first;
  plain.b = part.widened;
  plain.ahead = nullptr;
  // The float32 microkernels ignore the addend, so that the sums begin with it as the total of previous taps.
  alignas(64) float totals[kMaxColumns] = {};
  if (plain.addend) std::copy_n(plain.addend, plain.columns, totals);
  plain.totals = totals;
  plain.continues = true;
  kernels->packed->panel(1, panel.vectors, plain);
}

}  // namespace rushlight::microkernels
