#include "microkernels/conv/f32_groups.h"

#include <algorithm>

#include "core/rounding.h"
#include "microkernels/dwconv/f32.h"
#include "microkernels/workers.h"
#include "rushlight/core/error.h"

namespace rushlight::microkernels {

namespace {

// The maximum number of output channels of a part, and of floats of its planes, which stay in the L2 cache.
constexpr int64_t kMaxOutputs = 64, kRingFloats = 96 * 1024;
constexpr int64_t kMinStrip = 4;  // minimum number of output rows of a part

}  // namespace

Error PackedGroups::prepare(const Image& in, const Image& out) {
  RL_REQUIRE(window.kernel_h <= kMaxRows && inputs <= kMaxInputs, InvalidProgram,
             "a grouped convolution is too large: its window has %lld rows, its groups have %lld input channels",
             static_cast<long long>(window.kernel_h), static_cast<long long>(inputs));
  RL_REQUIRE(in.sizes[0] == out.sizes[0] && in.sizes[3] == groups * inputs && out.sizes[3] == outputs &&
                 outputs % groups == 0 && in.has_channels_last() && out.has_channels_last(),
             InvalidProgram, "the shapes or strides of the operands of a grouped convolution do not match");
  in_ = in;
  out_ = out;
  // A part has as many whole groups as possible.
  const int64_t of_group = outputs / groups;
  const int64_t row = ring_rows() * inputs * in.sizes[2];
  int64_t wanted = kMaxOutputs;
  while (wanted > kernels->width && row * wanted > kRingFloats) wanted /= 2;
  block_ = std::min(outputs, std::max<int64_t>(1, wanted / of_group) * of_group);
  return Error::Ok;
}

int64_t PackedGroups::worker_floats() const { return round_up(ring_rows() * inputs * in_.sizes[2] * block_, 16); }

void PackedGroups::run(KernelRuntimeContext& context, int64_t workers, const float* in, float* out,
                       float* scratch) const {
  if (out_.numel() == 0) return;
  if (work() / 2 < kSerialWork) workers = 1;
  const int64_t height = out_.sizes[1], blocks = divide_up(outputs, block_), wholes = out_.sizes[0] * blocks;
  const int64_t strips = wholes % workers == 0 ? 1 : std::min(workers, std::max<int64_t>(1, height / kMinStrip));
  const bool in_registers = reads_in_registers();
  for_workers(context, workers, wholes * strips, [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t strip = i % strips, first = i / strips % blocks * block_, image = i / strips / blocks;
      const Part part{first, std::min(block_, outputs - first), height * strip / strips, height * (strip + 1) / strips};
      const float* const from = in + image * in_.strides[0];
      float* const to = out + image * out_.strides[0];
      in_registers ? rows_in_registers(from, part, to) : rows(from, part, to, scratch + worker * worker_floats());
    }
  });
}

DepthwiseRun PackedGroups::run_of(const Part& part) const {
  DepthwiseRun run{};
  run.planes = inputs;
  run.columns = in_.sizes[2];
  run.left = -window.pad_w;
  run.kernel_h = window.kernel_h;
  run.kernel_w = window.kernel_w;
  run.stride = window.stride_w;
  run.dilation = window.dilation_w;
  run.tap_step = outputs;
  run.weight_step = window.kernel_w * outputs;
  run.weights = weights + part.first;
  run.bias = bias ? bias + part.first : nullptr;
  run.channels = part.count;
  run.out_step = out_.strides[2];
  run.out_row_step = out_.strides[1];
  run.outputs = out_.sizes[2];
  run.clamps = epilogue.clamps;
  run.low = epilogue.low;
  run.high = epilogue.high;
  return run;
}

void PackedGroups::apply(const DepthwiseRun& run) const {
  if (!epilogue.applies) return;
  for (int64_t r = 0; r < run.rows; ++r) {
    kernels->packed->apply(epilogue, run.out + r * run.out_row_step, run.out_step, run.outputs, run.channels);
  }
}

bool PackedGroups::reads_in_registers() const {
  const int64_t of_group = outputs / groups;
  // With vectors of 8 floats, an output must read channels of its own half of a vector, or a single group.
  const bool is_permuted = kernels->width >= 16 || inputs == of_group || of_group == kernels->width;
  return kernels->packed->grouped_3x3 && has_two_rows(window) && window.kernel_h == 3 && inputs <= of_group &&
         kernels->width % of_group == 0 && is_permuted;
}

void PackedGroups::rows_in_registers(const float* in, const Part& part, float* out) const {
  const int64_t of_group = outputs / groups, channel = part.first / of_group * inputs;
  const GroupedChannels channels{in_.sizes[3] - channel, inputs, of_group};
  DepthwiseRun run = run_of(part);
  run.column_step = in_.strides[2];
  for (int64_t y = part.begin; y < part.end; y += run.rows) {
    run.rows = y + 1 < part.end ? 2 : 1;
    const int64_t top = y * window.stride_h - window.pad_h;
    const float* lines[3 + 2];
    for (int64_t i = 0; i < 3 + (run.rows - 1) * window.stride_h; ++i) {
      lines[i] = top + i < 0 || top + i >= in_.sizes[1] ? nullptr : in + (top + i) * in_.strides[1] + channel;
    }
    run.lines = lines;
    run.out = out + y * out_.strides[1] + part.first;
    kernels->packed->grouped_3x3(run, channels);
    apply(run);
  }
}

void PackedGroups::rows(const float* in, const Part& part, float* out, float* ring) const {
  const int64_t of_group = outputs / groups, ring_count = ring_rows();
  const int64_t plane = in_.sizes[2] * part.count;
  GroupedLine line{};
  line.column_step = in_.strides[2];
  line.columns = in_.sizes[2];
  line.channels = in_.sizes[3];
  line.group_inputs = inputs;
  line.group_outputs = of_group;
  line.first = part.first;
  line.count = part.count;
  const auto place = [&](int64_t row) { return ring + row % ring_count * inputs * plane; };

  DepthwiseRun run = run_of(part);
  run.column_step = part.count;
  const bool pairs = has_two_rows(window);
  // The first input row whose planes are not made yet.
  int64_t next = std::max<int64_t>(0, part.begin * window.stride_h - window.pad_h);
  for (int64_t y = part.begin; y < part.end; y += run.rows) {
    run.rows = pairs && y + 1 < part.end ? 2 : 1;
    const int64_t top = y * window.stride_h - window.pad_h;
    const int64_t count = window.kernel_h + (run.rows - 1) * window.stride_h;
    const int64_t last = std::min(in_.sizes[1], top + (count - 1) * window.dilation_h + 1);
    for (next = std::max(next, top); next < last; ++next) {
      line.from = in + next * in_.strides[1];
      line.to = place(next);
      kernels->packed->grouped_line(line);
    }
    const float* lines[(kMaxRows * 2) * kMaxInputs];
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t k = 0; k < count; ++k) {
        const int64_t row = top + k * window.dilation_h;
        lines[i * count + k] = row < 0 || row >= in_.sizes[1] ? nullptr : place(row) + i * plane;
      }
    }
    run.lines = lines;
    run.out = out + y * out_.strides[1] + part.first;
    kernels->packed->depthwise(run);
    apply(run);
  }
}

}  // namespace rushlight::microkernels
