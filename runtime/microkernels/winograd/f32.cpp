#include "microkernels/winograd/f32.h"

#include <algorithm>

#include "core/rounding.h"
#include "microkernels/workers.h"
#include "rushlight/core/error.h"

namespace rushlight::microkernels {

namespace {

// The maximum number of floats of transformed input and products of a worker.
constexpr int64_t kBlockFloats = 288 * 1024;

// The maximum number of columns of a panel, and of outputs of a tile.
constexpr int64_t kMaxColumns = 64, kMaxOutputs = 16;

}  // namespace

Error PackedWinograd::prepare(const Sources& in, const Image& out, const Image* residual) {
  RL_REQUIRE(in.size(0) == out.sizes[0] && in.channels() == groups * channels && out.sizes[3] == groups * outputs &&
                 in.has_channels_last() && out.has_channels_last(),
             InvalidProgram, "the shapes of the operands of a Winograd convolution do not match its weights");
  if (residual) {
    for (int i = 0; i < 4; ++i) {
      RL_REQUIRE(
          residual->sizes[i] == out.sizes[i] && (residual->sizes[i] == 1 || residual->strides[i] == out.strides[i]),
          InvalidProgram, "the residual of a Winograd convolution does not have the shape and strides of the output");
    }
  }
  in_ = in;
  out_ = out;
  tile_rows_ = divide_up(out.sizes[1], m);
  tile_columns_ = divide_up(out.sizes[2], m);
  count_ = out.sizes[0] * tile_rows_ * tile_columns_;
  const int64_t tile_floats = groups * (inputs() * channels + points() * outputs);
  most_ = round_up(std::max<int64_t>(1, kBlockFloats / tile_floats), kernels->gemm_rows);
  most_ = std::max<int64_t>(1, std::min(most_, count_));
  return Error::Ok;
}

size_t PackedWinograd::scratch_floats(int64_t workers) const {
  return static_cast<size_t>(
      workers * (input_floats(most_) + product_floats(most_) + pointer_floats(std::min(most_ * workers, count_))));
}

void PackedWinograd::run(KernelRuntimeContext& context, int64_t workers, const float* const* in_data, float* out_data,
                         const float* residual, float* scratch) {
  in_.set_data(in_data);
  out_.data = out_data;
  residual_ = residual;
  if (count_ == 0) return;
  if (work() / 2 < kSerialWork) workers = 1;
  if (workers > 1 && count_ < 2 * workers * kernels->gemm_rows) return run_together(context, workers, scratch);
  for_sharing_workers(context, workers, count_, most_, [&](int64_t worker, int64_t begin, int64_t end) {
    float* input = scratch + worker * (input_floats(most_) + product_floats(most_) + pointer_floats(most_));
    float* products = input + input_floats(most_);
    float* pointers = products + product_floats(most_);
    const float** rows = reinterpret_cast<const float**>(pointers);
    uint8_t* usual = flags(pointers, most_);
    const int64_t blocks = divide_up(end - begin, most_);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = begin + (end - begin) * b / blocks;
      const int64_t count = begin + (end - begin) * (b + 1) / blocks - first;
      for (int64_t i = 0; i < count; ++i) usual[i] = transform(first, i, count, input);
      for (int64_t point = 0; point < points(); ++point) product(point, count, input, products, rows);
      for (int64_t i = 0; i < count; ++i) {
        usual[i] ? finish(first, i, count, products) : finish_directly(first + i);
      }
    }
  });
}

// If there are few tiles, most memory traffic is weights. The points are then divided among the workers, so that each
// worker reads other weights.
void PackedWinograd::run_together(KernelRuntimeContext& context, int64_t workers, float* scratch) const {
  const int64_t most = std::min(most_ * workers, count_);
  float* input = scratch;
  float* products = input + input_floats(most);
  float* pointers = products + product_floats(most);
  uint8_t* usual = flags(pointers, most);
  for (int64_t first = 0; first < count_; first += most) {
    const int64_t count = std::min(most, count_ - first);
    for_workers(context, workers, count, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) usual[i] = transform(first, i, count, input);
    });
    for_sharing_workers(context, workers, points(), 1, [&](int64_t worker, int64_t begin, int64_t end) {
      const float** rows = reinterpret_cast<const float**>(pointers + worker * pointer_floats(most));
      for (int64_t point = begin; point < end; ++point) product(point, count, input, products, rows);
    });
    for_workers(context, workers, count, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        usual[i] ? finish(first, i, count, products) : finish_directly(first + i);
      }
    });
  }
}

bool PackedWinograd::transform(int64_t first, int64_t index, int64_t count, float* input) const {
  const Place at = place(first + index);
  const int64_t line = at.line * stride - pad_h, column = at.column * stride - pad_w;
  const auto transform = transforms().input;
  WinogradInput tile{};
  tile.first_line = -line;
  tile.lines = in_.size(1) - line;
  tile.first_column = -column;
  tile.columns = in_.size(2) - column;
  tile.to = input + index * groups * channels;
  tile.to_step = input_step(count);
  bool is_usual = true;
  for (int i = 0; i < in_.count; ++i) {
    const Image& in = in_.images[i];
    tile.from = in.data + at.image * in.strides[0] + line * in.strides[1] + column * in.strides[2];
    tile.line_step = in.strides[1];
    tile.column_step = in.strides[2];
    tile.channels = in.sizes[3];
    is_usual &= transform(tile);
    tile.to += tile.channels;
  }
  return is_usual;
}

void PackedWinograd::product(int64_t point, int64_t count, const float* input, float* products,
                             const float** rows) const {
  const int64_t y = point / axis_points(), x = point % axis_points();
  int64_t taps = 0;
  for (int64_t i = axis_first(y); i < axis_first(y) + axis_terms(y); ++i) {
    for (int64_t j = axis_first(x); j < axis_first(x) + axis_terms(x); ++j, ++taps) {
      const float* from = input + (i * axis_inputs() + j) * input_step(count);
      for (int64_t r = 0; r < count; ++r) rows[taps * count + r] = from + r * groups * channels;
    }
  }
  const Packing packing = packing_of(*kernels);
  Panels p{};
  p.kernels = kernels;
  p.halves = f32_half_microkernels(*kernels);
  p.rows = rows;
  p.row_step = p.m = count;
  p.row_gap = groups * channels;
  p.taps = taps;
  p.k = channels;
  p.n = outputs;
  const int64_t term = groups * channels * packing.columns(outputs);
  p.b = weights + terms_before(point) * term;
  if (point + 1 < points()) {
    const int64_t columns = std::min(packing.panel, packing.columns(outputs));
    const int64_t floats = terms(point + 1) * channels * columns;
    p.ahead = {p.b.floats + terms(point) * term, floats * static_cast<int64_t>(sizeof(float))};
  }
  p.c = products + point * product_step(count);
  p.c_step = groups * outputs;
  multiply_groups(p, groups);
}

void PackedWinograd::finish(int64_t first, int64_t index, int64_t count, const float* products) const {
  const Place at = place(first + index);
  const Image& out = out_;
  const int64_t offset = at.image * out.strides[0] + at.line * out.strides[1] + at.column * out.strides[2];
  WinogradOutput tile{};
  tile.from = products + index * groups * outputs;
  tile.from_step = product_step(count);
  tile.channels = groups * outputs;
  tile.bias = bias;
  tile.to = out.data + offset;
  tile.line_step = out.strides[1];
  tile.column_step = out.strides[2];
  tile.lines = out.sizes[1] - at.line;
  tile.columns = out.sizes[2] - at.column;
  tile.lines = std::min(tile.lines, m);
  tile.columns = std::min(tile.columns, m);
  tile.epilogue = epilogue;
  if (residual_) tile.epilogue.residual = residual_ + offset;
  transforms().output(tile);
}

void PackedWinograd::finish_directly(int64_t tile) const {
  const Place at = place(tile);
  const int64_t panel = packing_of(*kernels).panel;
  const int64_t lines = std::min(out_.sizes[1] - at.line, m), width = std::min(out_.sizes[2] - at.column, m);
  const int64_t origin = at.image * out_.strides[0] + at.line * out_.strides[1] + at.column * out_.strides[2];
  float sums[kMaxOutputs * kMaxColumns];
  const int64_t panels = divide_up(outputs, panel);
  for (int64_t part = 0; part < groups * panels; ++part) {
    const int64_t group = part / panels, first = part % panels * panel, j = group * outputs + first;
    const int64_t columns = std::min(panel, outputs - first);
    add_directly(at, group, first, columns, sums);
    for (int64_t i = 0; i < lines * width; ++i) {
      const int64_t offset = origin + i / width * out_.strides[1] + i % width * out_.strides[2] + j;
      float* const to = out_.data + offset;
      float* const sum = sums + i * kMaxColumns;
      if (residual_) {
        for (int64_t o = 0; o < columns; ++o) sum[o] += residual_[offset + o];
      }
      if (epilogue.clamps) {
        kernels->unary(UnaryOp::Clamp, sum, sum, columns, epilogue.low, epilogue.high);
      }
      std::copy(sum, sum + columns, to);
      if (epilogue.applies) kernels->unary(epilogue.op, to, to, columns, epilogue.p, epilogue.q);
    }
  }
}

// Adds the direct convolution to sums[i * kMaxColumns + o], for output channel first + o of the group at pixel i of
// the tile. Pixels outside of the output are skipped.
void PackedWinograd::add_directly(const Place& at, int64_t group, int64_t first, int64_t columns, float* sums) const {
  const int64_t lines = std::min(out_.sizes[1] - at.line, m), width = std::min(out_.sizes[2] - at.column, m);
  for (int64_t i = 0; i < lines * width; ++i) {
    for (int64_t o = 0; o < columns; ++o) sums[i * kMaxColumns + o] = bias ? bias[group * outputs + first + o] : 0.0f;
  }
  int source = 0;
  for (int64_t c = group * channels, before = 0; c < (group + 1) * channels; ++c) {
    for (; c - before >= in_.images[source].sizes[3]; ++source) before += in_.images[source].sizes[3];
    const Image& in = in_.images[source];
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t ky = tap / 3, kx = tap % 3;
      float filter[kMaxColumns];
      find_filter(ky, kx, group, c - group * channels, first, columns, filter);
      for (int64_t i = 0; i < lines * width; ++i) {
        const int64_t y = (at.line + i / width) * stride + ky - pad_h;
        const int64_t x = (at.column + i % width) * stride + kx - pad_w;
        if (y < 0 || y >= in.sizes[1] || x < 0 || x >= in.sizes[2]) continue;
        const float value =
            in.data[at.image * in.strides[0] + y * in.strides[1] + x * in.strides[2] + (c - before) * in.strides[3]];
        for (int64_t o = 0; o < columns; ++o) sums[i * kMaxColumns + o] += value * filter[o];
      }
    }
  }
}

// Computes the weights of a tap from the transformed weights, for channel c and outputs first + o, o < columns, of a
// group. The outputs are in one panel.
void PackedWinograd::find_filter(int64_t ky, int64_t kx, int64_t group, int64_t c, int64_t first, int64_t columns,
                                 float* filter) const {
  const Packing packing = packing_of(*kernels);
  const int64_t step = std::min(packing.panel, packing.columns(outputs) - first);
  const int64_t point_step = channels * packing.columns(outputs);
  if (stride == 2) {
    // The points 0 and infinity contain the taps unchanged.
    const int64_t point = (ky == 2 ? 6 : 0) + (kx == 2 ? 2 : 0), term = (ky > 0 ? 2 : 0) + (kx > 0 ? 1 : 0);
    const float* const row =
        weights + (terms_before(point) * groups + group * terms(point)) * point_step + first * terms(point) * channels;
    std::copy_n(row + (term * channels + c) * step, columns, filter);
    return;
  }
  // Outer taps are multiples of the points 0 and infinity; the middle tap is a multiple of point 1 minus point -1.
  constexpr float kScales[][3] = {{1.0f, 1.0f, 1.0f}, {2.0f, -1.0f, 1.0f}, {4.0f, -3.0f, 1.0f}};
  const float* const scales = kScales[m - 2];
  const int64_t last = m + 1;
  const float* const row = weights + group * point_step + first * channels + c * step;
  const auto point = [&](int64_t y, int64_t x) { return row + (y * (m + 2) + x) * groups * point_step; };
  const int64_t y0 = ky == 2 ? last : ky, x0 = kx == 2 ? last : kx;
  const int64_t y1 = ky == 1 ? 2 : y0, x1 = kx == 1 ? 2 : x0;
  const float* const u[] = {point(y0, x0), point(y0, x1), point(y1, x0), point(y1, x1)};
  for (int64_t o = 0; o < columns; ++o) {
    float value = u[0][o];
    if (kx == 1) value -= u[1][o];
    if (ky == 1) value -= kx == 1 ? u[2][o] - u[3][o] : u[2][o];
    filter[o] = value * scales[ky] * scales[kx];
  }
}

}  // namespace rushlight::microkernels
