#include "microkernels/cortex_m/int8.h"
#include "microkernels/cortex_m/loops.h"

#if defined(RL_CORTEX_M_INT8)

namespace rushlight::microkernels::cortex_m {
size_t product_bytes(int32_t depth) { return kPixels * static_cast<size_t>(padded_depth(depth)) * sizeof(Patch); }

void multiply(const uint8_t* in, uint8_t flip, int32_t zero, const int8_t* weights, Int8Channel* channels, int32_t rows,
              int32_t depth, int32_t columns, const Int8Output& output, uint8_t* out, uint8_t* scratch) {
  auto* const patches = reinterpret_cast<Patch*>(scratch);
  const int32_t step = padded_depth(depth);
  set_corrections(weights, depth, zero, channels, columns);
  int32_t waiting = 0;
  for (int32_t i = 0; i < rows; ++i, in += depth) {
    expand(in, flip, depth, zero, patches + waiting * step);
    if (++waiting < kPixels) continue;
    products(patches, step, weights, depth, channels, columns, output, out, columns, 1);
    out += kPixels * columns;
    waiting = 0;
  }
  for (int32_t i = 0; i < waiting; ++i, out += columns) {
    products_of_one(patches + i * step, weights, depth, channels, columns, output, out, 1);
  }
}

}  // namespace rushlight::microkernels::cortex_m

#endif  // RL_CORTEX_M_INT8
