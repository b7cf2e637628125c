#include "microkernels/cortex_m/int8.h"
#include "microkernels/cortex_m/loops.h"

#if defined(RL_CORTEX_M_INT8)

namespace rushlight::microkernels::cortex_m {

bool multiply(const Int8Linear& linear, const uint8_t* in, const int8_t* weights, uint8_t* out,
              const ScratchMemory& memory) {
  const int32_t depth = linear.depth, columns = linear.columns, step = padded_depth(depth);
  const size_t first = channel_bytes(columns);
  auto* const scratch = static_cast<uint8_t*>(
      memory.allocate(memory.context, first + kPixels * static_cast<size_t>(step) * sizeof(Patch)));
  auto* const channels = reinterpret_cast<Int8Channel*>(scratch);
  if (scratch == nullptr || !set_channels(linear.scales, channels, columns)) return false;
  auto* const patches = reinterpret_cast<Patch*>(scratch + first);
  if (linear.rows >= kPixels) set_corrections(weights, depth, linear.zero, channels, columns);
  int32_t waiting = 0;
  for (int32_t i = 0; i < linear.rows; ++i, in += depth) {
    expand(in, linear.sign_mask, depth, linear.zero, patches + waiting * step);
    if (++waiting < kPixels) continue;
    products(patches, step, weights, depth, channels, columns, linear.output, out, columns, 1);
    out += kPixels * columns;
    waiting = 0;
  }
  for (int32_t i = 0; i < waiting; ++i, out += columns) {
    products_of_one(patches + i * step, weights, depth, linear.zero, channels, columns, linear.output, out, 1);
  }
  return true;
}

}  // namespace rushlight::microkernels::cortex_m

#endif  // RL_CORTEX_M_INT8
