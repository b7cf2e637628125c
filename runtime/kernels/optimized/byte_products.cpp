#include "kernels/optimized/byte_products.h"

#include <algorithm>

#include "kernels/optimized/workers.h"

namespace rushlight::optimized {

using tiles::ByteProduct;
using tiles::ByteTiles;

namespace {

// Multiplications below which a hand-off to another thread does not pay.
constexpr int64_t kSerialWork = 1 << 16;
// Rows from which on a right operand is packed, and those for columns so short that sums across vectors weigh.
constexpr int64_t kPackedRows = 64, kPackedRowsOfShort = 12, kShort = 64;
// Columns that are not divided further.
constexpr int64_t kChunk = 16;

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

bool pack(KernelRuntimeContext& context, const ByteTiles& tiles, int64_t workers, ByteProduct* p) {
  const size_t size = tiles::packed_right_size(tiles, p->n, p->k);
  int8_t* const packed = context.allocate_temporary_array<int8_t>(size);
  int32_t* const corrections = context.allocate_temporary_array<int32_t>(static_cast<size_t>(p->n));
  if (packed == nullptr || corrections == nullptr) return false;
  const int64_t step = tiles::column_step(tiles);
  for_workers(context, workers, (p->n + step - 1) / step, [&](int64_t, int64_t begin, int64_t end) {
    tiles::pack_columns(tiles, p->columns, p->column_stride, p->n, p->k, begin * step, std::min(end * step, p->n),
                        packed);
  });
  p->right = packed;
  if (p->out_kind == ByteProduct::Out::Bytes) {
    tiles::zero_corrections(tiles, packed, p->n, p->zeros[0], p->requantize.correction, corrections);
    p->requantize.correction = corrections;
  }
  return true;
}

}  // namespace

bool multiply_bytes(KernelRuntimeContext& context, ByteProduct p) {
  const ByteTiles& tiles = tiles::byte_tiles();
  if (p.m == 0 || p.n == 0) return true;
  const int64_t workers = p.m * p.n * std::max<int64_t>(p.k, 1) < kSerialWork ? 1 : worker_count(context);
  const int64_t packed_rows = p.k <= kShort ? kPackedRowsOfShort : kPackedRows;
  if (p.right == nullptr && p.m >= packed_rows && !pack(context, tiles, workers, &p)) return false;
  const int64_t scratch_size = round_up(static_cast<int64_t>(tiles::product_scratch(tiles, p.k)), 64);
  uint8_t* const scratch = context.allocate_temporary_array<uint8_t>(static_cast<size_t>(workers * scratch_size));
  if (scratch == nullptr) return false;
  // Whole tiles of rows, if there are enough of them for all workers; else columns.
  if (p.m >= 2 * tiles.rows * workers) {
    for_workers(context, workers, (p.m + tiles.rows - 1) / tiles.rows, [&](int64_t w, int64_t begin, int64_t end) {
      tiles::multiply(tiles, p, begin * tiles.rows, std::min(end * tiles.rows, p.m), 0, p.n,
                      scratch + w * scratch_size);
    });
    return true;
  }
  const int64_t chunk = std::max(tiles::column_step(tiles), kChunk);
  for_workers(context, workers, (p.n + chunk - 1) / chunk, [&](int64_t w, int64_t begin, int64_t end) {
    tiles::multiply(tiles, p, 0, p.m, begin * chunk, std::min(end * chunk, p.n), scratch + w * scratch_size);
  });
  return true;
}

}  // namespace rushlight::optimized
