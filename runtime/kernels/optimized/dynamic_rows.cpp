#include "kernels/optimized/dynamic_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernels/quantized/choose.h"
#include "microkernels/tables/int8.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

using quantized::Affine;

namespace {

constexpr int64_t kGrain = 16 * 1024;
// Numbers that a worker reads at a time.
constexpr int64_t kChunk = 4096;

// Finds the extremes of a whole tensor and 0; NaN if an element is NaN. Returns false if there is no memory.
bool range_of(KernelRuntimeContext& context, const float* x, int64_t n, quantized::Extremes* extremes) {
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  const int64_t workers = n < kGrain ? 1 : microkernels::worker_count(context);
  auto* const parts = context.allocate_temporary_array<quantized::Extremes>(static_cast<size_t>(workers));
  if (parts == nullptr) return false;
  std::atomic<bool> ordered{true};
  for (int64_t w = 0; w < workers; ++w) parts[w] = {0, 0};
  microkernels::for_workers(context, workers, (n + kChunk - 1) / kChunk, [&](int64_t w, int64_t begin, int64_t end) {
    const int64_t first = begin * kChunk, last = std::min(n, end * kChunk);
    if (!kernels.extremes(x + first, last - first, &parts[w].least, &parts[w].most)) ordered = false;
  });
  *extremes = {0, 0};
  for (int64_t w = 0; w < workers; ++w) {
    extremes->least = std::min(extremes->least, parts[w].least);
    extremes->most = std::max(extremes->most, parts[w].most);
  }
  if (!ordered) *extremes = {NAN, NAN};
  return true;
}

}  // namespace

bool quantize_dynamic_rows(KernelRuntimeContext& context, const Tensor& in, const quantized::DynamicRange& range,
                           quantized::DynamicRows* result) {
  quantized::DynamicRows& r = *result;
  r.depth = in.size(in.dim() - 1);
  r.rows = in.numel() / r.depth;
  r.numbers = context.allocate_temporary_array<int8_t>(static_cast<size_t>(in.numel()));
  r.scales = context.allocate_temporary_array<float>(static_cast<size_t>(r.rows));
  r.zeros = context.allocate_temporary_array<int32_t>(static_cast<size_t>(r.rows));
  if (context.failed()) return false;
  const float* const x = in.const_data_ptr<float>();
  Affine tensor_parameters{1, 0};
  if (!range.per_token) {
    quantized::Extremes extremes;
    if (!range_of(context, x, in.numel(), &extremes)) return false;
    tensor_parameters = range.choose(extremes);
  }
  const microkernels::Int8Microkernels& kernels = microkernels::int8_microkernels();
  context.parallel_for(0, r.rows, kGrain / r.depth + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const row = x + i * r.depth;
      Affine chosen = tensor_parameters;
      if (range.per_token) {
        quantized::Extremes extremes;
        if (!kernels.extremes(row, r.depth, &extremes.least, &extremes.most)) extremes = {NAN, NAN};
        chosen = range.choose(extremes);
      }
      r.scales[i] = quantized::scale_of_sums(chosen);
      r.zeros[i] = static_cast<int32_t>(chosen.zero);
      kernels.quantize(row, r.depth,
                       {r.zeros[i], static_cast<int32_t>(range.quant_min), static_cast<int32_t>(range.quant_max)},
                       1.0f / r.scales[i], reinterpret_cast<uint8_t*>(r.numbers + i * r.depth));
    }
  });
  return true;
}

}  // namespace rushlight::optimized
