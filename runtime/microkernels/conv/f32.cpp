#include "microkernels/conv/f32.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/rounding.h"
#include "microkernels/workers.h"
#include "rushlight/core/error.h"

namespace rushlight::microkernels {

namespace {

// If there are fewer channels than this, whole windows are gathered into rows of the LHS.
constexpr int64_t kFewChannels = 8;
// The maximum number of bytes of the LHS in a block of rows. The block stays in the L2 cache while it is multiplied by
// all panels. Processors with wider vectors have larger L2 caches.
int64_t block_bytes(const F32Microkernels& kernels) { return (kernels.width >= 16 ? 640 : 208) * 1024; }
constexpr int64_t kMaxRows = 240;
// As block_bytes(), for rows that a prologue writes.
int64_t prologue_bytes(const F32Microkernels& kernels) { return (kernels.width >= 16 ? 256 : 104) * 1024; }
// Outputs of at least this many bytes are prefetched before they are written.
constexpr int64_t kManyOutputs = 1 << 20;

}  // namespace

Error PackedConvolution::prepare(const Sources& sources, const Image& out, const Image* residual) {
  RL_REQUIRE(sources.images[0].sizes[0] == out.sizes[0] && sources.channels() == groups * channels &&
                 out.sizes[3] == groups * outputs,
             InvalidProgram, "the shapes of the operands of a convolution or GEMM do not match its weights");
  in_ = sources;
  RL_TRY(set_output(out));
  RL_TRY(set_residual(residual));
  RL_TRY(choose_lhs());
  RL_TRY(check_prologue());
  block_ = rows_of_block();
  return check_windows();
}

Error PackedConvolution::set_output(const Image& out) {
  RL_REQUIRE(out.has_channels_last(), InvalidProgram, "the output of a convolution or GEMM is not channels-last");
  out_ = out;
  rows_ = out.sizes[0] * out.sizes[1] * out.sizes[2];
  // If the distance between lines of the output is not constant, a block of rows is not longer than a line. If a line
  // has fewer pixels than a tile has rows, the weights would be read too often. Then a block is computed in scratch
  // memory.
  is_apart_ = !out.has_pixel_step(&out_step_);
  is_staged_ = is_apart_ && out.sizes[2] < kernels->gemm_rows;
  if (is_apart_) out_step_ = is_staged_ ? groups * outputs : out.strides[2];
  return Error::Ok;
}

Error PackedConvolution::set_residual(const Image* residual) {
  has_residual_ = residual != nullptr;
  if (!residual) return Error::Ok;
  residual_ = *residual;
  RL_REQUIRE(!is_apart_ && residual_.has_pixel_step(&residual_step_) && residual_.has_channels_last(), InvalidProgram,
             "a convolution or GEMM with a residual needs channels-last pixels at constant distances");
  RL_REQUIRE(std::equal(out_.sizes, out_.sizes + 4, residual_.sizes), InvalidProgram,
             "the residual of a convolution or GEMM does not have the shape of the output");
  return Error::Ok;
}

Error PackedConvolution::choose_lhs() {
  const Image& in = in_.images[0];
  is_plain_ = in_.count == 1 && has_pixel_window() && std::equal(in.sizes + 1, in.sizes + 3, out_.sizes + 1) &&
              in.has_pixel_step(&in_step_);
  gathers_ = (in.strides[3] != 1 && channels > 1) || (taps() > 1 && channels < kFewChannels && groups == 1);
  has_lines_ = gathers_ && !is_apart_ && groups == 1 && (in.strides[2] == 1 || in.sizes[2] == 1) &&
               out_.sizes[2] >= kernels->gemm_rows;  // at least a tile in each line
  RL_REQUIRE(!gathers_ || groups == 1, InvalidProgram,
             "the input channels of a grouped convolution are not contiguous");
  piece_ = channels;
  has_dots_ = false;
  if (in_.count > 1) RL_TRY(choose_piece());
  if (dot_weights && rows_ > 1 && !has_lines_) {
    has_dots_ = !gathers_ && piece_ % kernels->width == 0 && prefers_dots(taps() * pieces(), piece_);
  }
  return Error::Ok;
}

Error PackedConvolution::choose_piece() {
  RL_REQUIRE(groups == 1 && !gathers_ && in_.has_channels_last(), InvalidProgram,
             "a convolution does not support this layout of several inputs");
  for (int i = 0; i < in_.count; ++i) piece_ = std::gcd(piece_, in_.images[i].sizes[3]);
  return Error::Ok;
}

bool PackedConvolution::prefers_dots(int64_t pieces, int64_t piece) const {
  // Processors with half units compute panels of few columns with half vectors, which take half of the time.
  const int64_t slower = f32_half_microkernels(*kernels) ? 2 : 1;
  // Multiplications of whole vectors for each row: for its products, and to add up the lanes.
  const int64_t of_dots = DotTile::padded_columns(outputs) * (pieces * divide_up(piece, kernels->width) + 3) + pieces;
  return 8 * pieces * piece > 9 * slower * of_dots;
}

int64_t PackedConvolution::dot_floats() const {
  if (!kernels->packed->dots || outputs > kernels->packed->dot_columns || groups != 1) return 0;
  // A lane adds up few of the terms. With very long sums, panels are more exact.
  if (channels % kernels->width != 0 || depth() > 2 * kTermsOfSum * kernels->width) return 0;
  return prefers_dots(taps(), channels) ? DotTile::padded_columns(outputs) * depth() + kernels->width : 0;
}

void PackedConvolution::set_dot_weights(float* to) {
  const int64_t width = packing().columns(outputs);
  while (reinterpret_cast<uintptr_t>(to) % (static_cast<size_t>(kernels->width) * sizeof(float)) != 0) ++to;
  dot_weights = to;
  for (int64_t j = 0; j < DotTile::padded_columns(outputs); ++j) {
    for (int64_t l = 0; l < depth(); ++l) *to++ = j < outputs ? weights.floats[l * width + j] : 0.0f;
  }
}

Error PackedConvolution::check_prologue() const {
  if (!has_prologue()) return Error::Ok;
  const Image& in = in_.images[0];
  RL_REQUIRE(has_pixel_window() && std::equal(in.sizes, in.sizes + 3, out_.sizes) && groups == 1 && in_.count == 1 &&
                 !gathers_,
             InvalidProgram, "only a 1 x 1 convolution can have a prologue");
  return Error::Ok;
}

int64_t PackedConvolution::rows_of_block() const {
  // The number of input pixels for each output pixel. Several taps may read the same pixel, and strides skip pixels.
  const int64_t pixels = std::min(window.stride_h, window.kernel_h) * std::min(window.stride_w, window.kernel_w);
  const int64_t part = gathers_ ? depth_of_part(1, depth()) : depth_of_part(taps() * pieces(), piece_);
  const int64_t row_floats = gathers_ || taps() == 1 ? part : std::min(part, channels * pixels);
  // 16-bit and grouped weights need less of the cache. They are converted to float32 once for each block.
  const int64_t bytes = block_bytes(*kernels) * (weights.is_widened() ? 2 : 1);
  int64_t rows = std::max<int64_t>(1, bytes / (std::max<int64_t>(1, row_floats) * 4));
  if (has_prologue()) {
    rows = std::min(rows, std::max<int64_t>(1, prologue_bytes(*kernels) / (std::max<int64_t>(1, depth()) * 4)));
  }
  return std::min(kMaxRows, round_up(rows, kernels->gemm_rows));
}

const Bf16PairMicrokernels* PackedConvolution::pairs() const {
  const bool is_one_row = gathers_ || taps() * pieces() == 1;
  if (!rounds || !weights.is_f16() || weights.type != F16Type::BFloat16 || !is_one_row || has_lines_) return nullptr;
  const Bf16PairMicrokernels* const table = bf16_pair_microkernels(*kernels);
  return table && rows_ >= table->least_rows ? table : nullptr;
}

// Returns whether the columns, and not the rows, are divided among the workers. The larger operand is divided, and all
// workers read the smaller one. Rows are divided if both have similar sizes, because a worker has the rows that it
// wrote in its cache, or if there are too few panels to divide them evenly.
bool PackedConvolution::is_by_columns(int64_t workers) const {
  if (workers == 1 || divide_up(rows_, kernels->gemm_rows) < workers) return workers > 1;
  const int64_t panels = divide_up(outputs, packing().panel);
  return groups * outputs > 2 * rows_ && panels >= 2 * workers && 8 * round_up(panels, workers) <= 9 * panels;
}

FirstWeights PackedConvolution::first_weights(int64_t workers) const {
  if (weights.is_grouped()) return {};
  const int64_t size = weights.is_f16() ? sizeof(uint16_t) : sizeof(float);
  const void* const from = weights.is_f16() ? static_cast<const void*>(weights.f16) : weights.floats;
  const int64_t columns = std::min(packing().panel, packing().columns(outputs));
  return {from, depth() * columns * size, is_by_columns(workers) ? divide_up(outputs, packing().panel) : 1};
}

void PackedConvolution::run(KernelRuntimeContext& context, int64_t workers, const float* const* in, float* out,
                            const float* residual, float* scratch, const FirstWeights& next) {
  in_.set_data(in);
  out_.data = out;
  residual_.data = const_cast<float*>(residual);
  if (rows_ == 0) return;
  if (work() / 2 < kSerialWork) workers = 1;
  if (rows_ == 1 && is_plain_ && !gathers_ && !has_prologue()) return run_row(context, workers);
  const int64_t panels = divide_up(outputs, packing().panel);
  // A multiple of the number of workers, so that all workers get the same number.
  const int64_t groups_of_rows = round_up(divide_up(rows_, kernels->gemm_rows), workers);
  if (is_by_columns(workers)) {
    // Each part repeats the gathering, rounding or prologue of its rows. If one of these is needed, there is only one
    // part.
    const int64_t least = gathers_ || has_prologue() || pairs() ? panels : depth() <= kMaxDepth ? 1 : 2;
    for_sharing_workers(context, workers, panels, least, [&](int64_t worker, int64_t begin, int64_t end) {
      part(scratch + worker * worker_floats(), 0, rows_, begin, end, next.after(worker, workers, end, panels));
    });
  } else {
    const int64_t least = weights.is_widened() ? groups_of_rows : std::max<int64_t>(1, kMinRows / kernels->gemm_rows);
    for_sharing_workers(context, workers, groups_of_rows, least, [&](int64_t worker, int64_t begin, int64_t end) {
      part(scratch + worker * worker_floats(), rows_ * begin / groups_of_rows, rows_ * end / groups_of_rows, 0, panels,
           next.after(worker, workers, end, groups_of_rows));
    });
  }
}

void PackedConvolution::run_row(KernelRuntimeContext& context, int64_t workers) const {
  const int64_t panel = packing().panel;
  const int64_t width = packing().columns(outputs);
  // The sums of the panels after the last group of four have another order. These panels are not divided among workers,
  // so that no result depends on the number of workers.
  const int64_t fours = outputs / panel / 4 * 4, parts = fours + (fours * panel < outputs ? 1 : 0);
  for (int64_t g = 0; g < groups; ++g) {
    const auto multiply_row = [&](int64_t first, int64_t last, bool ends) {
      if (first == last) return;
      const int64_t at = g * outputs + first;
      Epilogue e = epilogue;
      if (has_residual_) e.residual = residual_.data + at;
      const PackedWeights b = weights.from(g * depth() * width + first * depth());
      const float* const x = in_.images[0].data + g * channels;
      const float* const addend = bias ? bias + at : nullptr;
      if (b.is_f16()) {
        kernels->packed->f16_row(b.type, x, depth(), b.f16, addend, out_.data + at, last - first, ends, e);
      } else {
        kernels->packed->row(x, depth(), b.floats, addend, out_.data + at, last - first, ends, e);
      }
    };
    for_workers(context, workers, parts, [&](int64_t, int64_t begin, int64_t end) {
      multiply_row(begin * panel, std::min(end, fours) * panel, false);
      if (end > fours) multiply_row(fours * panel, outputs, true);
    });
  }
}

void PackedConvolution::part(float* scratch, int64_t m0, int64_t m1, int64_t p0, int64_t p1, const Ahead& ahead) const {
  if (has_lines_) return part_of_lines(scratch, m0, m1, p0, p1);
  const float** rows = reinterpret_cast<const float**>(scratch);
  float* gathered = scratch + pointer_floats();
  Panels gemm{};
  gemm.kernels = kernels;
  gemm.halves = f32_half_microkernels(*kernels);
  gemm.rows = rows;
  gemm.taps = gathers_ ? 1 : taps() * pieces();
  gemm.k = gathers_ ? depth() : piece_;
  gemm.n = outputs;
  gemm.zeros = zeros;
  gemm.row_gap = row_gap();
  gemm.c_step = out_step_;
  gemm.widened = widened(scratch);
  gemm.pairs = pairs();
  gemm.rounded = rounded(scratch);
  gemm.epilogue = epilogue;
  gemm.epilogue.residual_step = residual_step_;
  gemm.fetches_output = !is_staged_ && rows_ * groups * outputs * static_cast<int64_t>(sizeof(float)) >= kManyOutputs;
  const int64_t width = packing().columns(outputs);
  // All blocks have similar numbers of rows.
  const int64_t blocks = divide_up(m1 - m0, block_);
  const int64_t block =
      std::min(block_, round_up(divide_up(m1 - m0, std::max<int64_t>(1, blocks)), kernels->gemm_rows));
  for (int64_t m = m0, count = 0; m < m1; m += count) {
    count = std::min(block, m1 - m);
    if (is_apart_ && !is_staged_) count = std::min(count, out_.sizes[2] - m % out_.sizes[2]);
    float* const to = is_staged_ ? staged(scratch) : is_apart_ ? pixel(m) : out_.data + m * out_step_;
    gemm.m = gemm.row_step = count;
    const Ahead next = m + count == m1 ? ahead : next_rows(m + count, std::min(block, m1 - m - count));
    if (gathers_) {
      gather(m, count, gathered);
      for (int64_t i = 0; i < count; ++i) rows[i] = gathered + i * depth();
    } else {
      set_row_pointers(m, count, rows);
      if (has_prologue()) apply_prologue(m, count, rows, gathered);
    }
    if (has_dots_) multiply_dots(gemm, m, to);
    for (int64_t g = 0; g < groups && !has_dots_; ++g) {
      gemm.ahead = next.part(g, groups);
      gemm.channel = g * channels;
      gemm.b = weights.from(g * depth() * width);
      gemm.bias = bias ? bias + g * outputs : nullptr;
      gemm.c = to + g * outputs;
      if (has_residual_) gemm.epilogue.residual = residual_.data + m * residual_step_ + g * outputs;
      multiply(gemm, p0, p1);
    }
    if (is_staged_) store_staged(to, m, count, p0, p1);
  }
}

void PackedConvolution::multiply_dots(const Panels& block, int64_t m, float* to) const {
  DotTile tile{};
  tile.rows = block.rows;
  tile.row_step = block.row_step;
  tile.taps = block.taps;
  tile.k = block.k;
  tile.b = dot_weights;
  tile.b_step = depth();
  tile.bias = bias;
  tile.c = to;
  tile.c_step = out_step_;
  tile.columns = outputs;
  tile.epilogue = block.epilogue;
  if (has_residual_) tile.epilogue.residual = residual_.data + m * residual_step_;
  kernels->packed->dots(block.m, tile);
}

// Copies the columns of panels [p0, p1) of staged results to rows [m, m + count) of the output.
void PackedConvolution::store_staged(const float* from, int64_t m, int64_t count, int64_t p0, int64_t p1) const {
  const int64_t begin = p0 * packing().panel, end = std::min(p1 * packing().panel, outputs);
  for (int64_t i = 0; i < count; ++i) {
    float* const to = pixel(m + i);
    for (int64_t g = 0; g < groups; ++g, from += outputs) {
      std::copy(from + begin, from + end, to + g * outputs + begin);
    }
  }
}

float* PackedConvolution::pixel(int64_t m) const {
  const int64_t x = m % out_.sizes[2], line = m / out_.sizes[2];
  return out_.data + line / out_.sizes[1] * out_.strides[0] + line % out_.sizes[1] * out_.strides[1] +
         x * out_.strides[2];
}

int64_t PackedConvolution::row_gap() const {
  if (gathers_) return depth();
  if (has_prologue()) return channels;
  return is_plain_ ? in_step_ : in_.images[0].strides[2] * window.stride_w;
}

// Returns the number of pixels at distances of `step` that begin before the position `end`.
static int64_t pixels_before(int64_t end, int64_t step) { return end <= 0 ? 0 : divide_up(end, step); }

// Writes the pointers rows[(tap * pieces() + piece) * count + i]. Each points to this piece of the pixel that output m
// + i reads with this tap, or to `zeros` for padding.
void PackedConvolution::set_row_pointers(int64_t m, int64_t count, const float** rows) const {
  if (is_plain_) {
    const float* const base = in_.images[0].data;
    for (int64_t i = 0; i < count; ++i) rows[i] = base + (m + i) * in_step_;
    return;
  }
  for (int64_t i = 0, piece = 0; i < in_.count; ++i) {
    Image in = in_.images[i];
    const int64_t end = i + 1 < in_.count ? piece + in.sizes[3] / piece_ : pieces();
    for (; piece < end; ++piece, in.data += piece_) set_row_pointers(in, m, count, piece, rows);
  }
}

void PackedConvolution::set_row_pointers(const Image& in, int64_t m, int64_t count, int64_t piece,
                                         const float** rows) const {
  const int64_t height = out_.sizes[1], width = out_.sizes[2], step = window.stride_w * in.strides[2];
  for (int64_t i = 0; i < count;) {
    const int64_t x0 = (m + i) % width, line = (m + i) / width;
    const int64_t run = std::min(width - x0, count - i);
    const float* image = in.data + line / height * in.strides[0];
    for (int64_t ky = 0; ky < window.kernel_h; ++ky) {
      const int64_t y = line % height * window.stride_h - window.pad_h + ky * window.dilation_h;
      const bool is_inside = y >= 0 && y < in.sizes[1];
      for (int64_t kx = 0; kx < window.kernel_w; ++kx) {
        const float** to = rows + ((ky * window.kernel_w + kx) * pieces() + piece) * count + i;
        // Pixels [first, last) of the run lie inside the line of the input.
        const int64_t x = x0 * window.stride_w - window.pad_w + kx * window.dilation_w;
        const int64_t first = is_inside ? std::min(run, pixels_before(-x, window.stride_w)) : run;
        const int64_t last =
            is_inside ? std::max(first, std::min(run, pixels_before(in.sizes[2] - x, window.stride_w))) : run;
        std::fill(to, to + first, zeros);
        const float* source = image + y * in.strides[1] + (x + first * window.stride_w) * in.strides[2];
        for (int64_t j = first; j < last; ++j, source += step) to[j] = source;
        std::fill(to + last, to + run, zeros);
      }
    }
    i += run;
  }
}

// Returns the lines of a large image that the next rows read and that the rows before m do not read, so that they can
// be prefetched.
Ahead PackedConvolution::next_lines(int64_t m, int64_t count) const {
  const Image& in = in_.images[0];
  const int64_t size = static_cast<int64_t>(sizeof(float)), height = out_.sizes[1];
  const int64_t line = (m - 1) / out_.sizes[2], last = (m + count - 1) / out_.sizes[2], image = line / height;
  const bool is_dense = in.strides[1] == in.sizes[2] * in.strides[2];
  if (!is_dense || last / height != image || in.sizes[1] * in.strides[1] * size <= block_bytes(*kernels)) return {};
  // Returns the end of the input lines that output lines up to `at` read.
  const auto end_of = [&](int64_t at) {
    const int64_t top = at % height * window.stride_h - window.pad_h;
    return std::clamp<int64_t>(top + (window.kernel_h - 1) * window.dilation_h + 1, 0, in.sizes[1]);
  };
  const int64_t first = end_of(line);
  return {in.data + image * in.strides[0] + first * in.strides[1], (end_of(last) - first) * in.strides[1] * size};
}

// Returns the memory that the next rows or their prologue read first, so that it can be prefetched. Returns nothing if
// the rows are only a small part of this memory.
Ahead PackedConvolution::next_rows(int64_t m, int64_t count) const {
  if (!is_plain_ && !gathers_ && in_.count == 1) return next_lines(m, count);
  if (!has_prologue() || !is_plain_ || 2 * channels < in_step_) return {};
  return {in_.images[0].data + m * in_step_, count * in_step_ * static_cast<int64_t>(sizeof(float))};
}

void PackedConvolution::apply_prologue(int64_t m, int64_t count, const float** rows, float* to) const {
  const int64_t pixels = out_.sizes[1] * out_.sizes[2];
  for (int64_t i = 0; i < count;) {
    const int64_t image = (m + i) / pixels, run = std::min(count - i, (image + 1) * pixels - m - i);
    Prologue values = prologue.rows;
    if (values.scale) values.scale += image * prologue.scale_step;
    if (values.shift) values.shift += image * prologue.shift_step;
    kernels->packed->prologue(values, rows + i, run, channels, to);
    for (const int64_t end = i + run; i < end; ++i, to += channels) rows[i] = to;
  }
}

}  // namespace rushlight::microkernels
