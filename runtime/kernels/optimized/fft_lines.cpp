#include "kernels/optimized/fft_lines.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "core/transpose.h"
#include "microkernels/tables/f32.h"
#include "microkernels/workers.h"

namespace rushlight::optimized {

namespace {

using microkernels::FftPass;

constexpr int64_t kMaxLanes = 16;
constexpr int kMaxPasses = 32;

constexpr double kTurn = 2 * 3.14159265358979323846;

// The roots of unity exp(-2 pi i k / n). A root is the product of a coarse and a fine root in double precision, which
// is faster than to compute the sine and the cosine of each angle.
class Roots {
 public:
  // Makes the tables. If there is no memory, records the failure and returns false.
  bool prepare(KernelRuntimeContext& context, int64_t n) {
    while ((int64_t{1} << (2 * shift_)) < n) ++shift_;
    const int64_t fine = int64_t{1} << shift_, coarse = (n >> shift_) + 1;
    double* const tables = context.allocate_temporary_array<double>(static_cast<size_t>(2 * (fine + coarse)));
    if (!tables) return false;
    fine_ = tables;
    coarse_ = tables + 2 * fine;
    for (int64_t i = 0; i < fine + coarse; ++i) {
      const double angle = kTurn * static_cast<double>(i < fine ? i : (i - fine) << shift_) / static_cast<double>(n);
      tables[2 * i] = std::cos(angle);
      tables[2 * i + 1] = -std::sin(angle);
    }
    return true;
  }

  // Sets `root` to root k, or to its conjugate with `inverse`. 0 <= k < n.
  void get(int64_t k, bool inverse, float* root) const {
    const double* const a = coarse_ + 2 * (k >> shift_);
    const double* const b = fine_ + 2 * (k & ((int64_t{1} << shift_) - 1));
    const double imaginary = a[0] * b[1] + a[1] * b[0];
    root[0] = static_cast<float>(a[0] * b[0] - a[1] * b[1]);
    root[1] = static_cast<float>(inverse ? -imaginary : imaginary);
  }

 private:
  int shift_ = 0;
  const double* fine_ = nullptr;
  const double* coarse_ = nullptr;
};

// A transform of n complex points.
class Passes {
 public:
  // Makes the tables. If there is no memory, records the failure and returns false.
  bool prepare(KernelRuntimeContext& context, int64_t n, bool inverse) {
    int64_t rest = n, stride = 1;
    Roots table;
    if (!table.prepare(context, n)) return false;
    while (rest > 1) {
      int radix = 4;
      if (rest % 4 != 0) {
        for (radix = 2; rest % radix != 0;) ++radix;
      }
      const int64_t parts = rest / radix;
      float* const twiddles = context.allocate_temporary_array<float>(static_cast<size_t>(2 * parts * (radix - 1)));
      float* const roots = context.allocate_temporary_array<float>(static_cast<size_t>(2 * radix));
      if (!twiddles || !roots) return false;
      for (int64_t p = 0; p < parts; ++p) {
        for (int64_t j = 1; j < radix; ++j) {
          table.get(p * j * stride, inverse, twiddles + 2 * (p * (radix - 1) + j - 1));
        }
      }
      for (int64_t k = 0; k < radix; ++k) table.get(k * (n / radix), inverse, roots + 2 * k);
      passes_[count_++] = {radix, inverse, parts, stride, twiddles, roots};
      rest = parts;
      stride *= radix;
    }
    return true;
  }

  // Transforms the contents of `from`. Returns the address of the result: `from` or `to`.
  float* run(const microkernels::F32Microkernels& kernels, float* from, float* to) const {
    for (int i = 0; i < count_; ++i) {
      kernels.fft_pass(passes_[i], from, to);
      std::swap(from, to);
    }
    return from;
  }

 private:
  int count_ = 0;
  FftPass passes_[kMaxPasses];
};

// Whether the passes support a transform of n points.
bool has_small_factors(int64_t n) {
  for (int64_t p = 2; p <= microkernels::kMaxFftRadix && n > 1; ++p) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

// Lines of a tensor along an axis, as floats. A complex point has two floats.
struct Lines {
  float* data;
  int64_t components;
  int64_t step;  // floats between consecutive points
  int64_t offsets[kMaxLanes];

  Lines(const Tensor& tensor, int64_t axis)
      : data(static_cast<float*>(const_cast<void*>(tensor.const_data_ptr()))),
        components(tensor.scalar_type() == ScalarType::Float ? 1 : 2),
        step(tensor.stride(axis) * components) {}
  // Complex lines in memory. Line i begins at `first` + i * `distance` floats.
  Lines(float* memory, int64_t step, int64_t first, int64_t distance) : data(memory), components(2), step(step) {
    for (int64_t lane = 0; lane < kMaxLanes; ++lane) offsets[lane] = first + lane * distance;
  }

  // Sets the offsets of `count` lines, beginning with line `first`.
  void set_offsets(const Tensor& tensor, int64_t axis, int64_t first, int64_t count) {
    for (int64_t lane = 0; lane < count; ++lane) {
      int64_t rest = first + lane, offset = 0;
      for (int64_t i = tensor.dim() - 1; i >= 0; --i) {
        if (i == axis) continue;
        offset += rest % tensor.size(i) * tensor.stride(i);
        rest /= tensor.size(i);
      }
      offsets[lane] = offset * components;
    }
  }

  // Returns the distance of consecutive lines, or 0 if the distances differ.
  int64_t distance(int64_t count) const {
    const int64_t distance = count > 1 ? offsets[1] - offsets[0] : step;
    for (int64_t lane = 1; lane < count; ++lane) {
      if (offsets[lane] - offsets[lane - 1] != distance) return 0;
    }
    return distance;
  }

  // Reads points of `count` lines into rows of `width` floats, one row per component. Unused lanes become zero.
  void read(int64_t count, int64_t points, int64_t width, float* rows) const {
    if (count < width) std::fill_n(rows, points * components * width, 0.0f);
    const int64_t line_distance = distance(count);
    if (step == components && line_distance != 0) {
      return transpose(data + offsets[0], line_distance, count, points * components, rows, width);
    }
    if (line_distance == components) {
      for (int64_t i = 0; i < points; ++i) {
        const float* const from = data + offsets[0] + i * step;
        for (int64_t c = 0; c < components; ++c) {
          float* const row = rows + (i * components + c) * width;
          for (int64_t lane = 0; lane < count; ++lane) row[lane] = from[lane * components + c];
        }
      }
      return;
    }
    for (int64_t i = 0; i < points; ++i) {
      for (int64_t c = 0; c < components; ++c) {
        for (int64_t lane = 0; lane < count; ++lane) {
          rows[(i * components + c) * width + lane] = data[offsets[lane] + i * step + c];
        }
      }
    }
  }

  void write(int64_t count, int64_t points, int64_t width, const float* rows) const {
    const int64_t line_distance = distance(count);
    if (step == components && line_distance != 0) {
      return transpose(rows, width, points * components, count, data + offsets[0], line_distance);
    }
    for (int64_t i = 0; i < points; ++i) {
      for (int64_t c = 0; c < components; ++c) {
        const float* const row = rows + (i * components + c) * width;
        for (int64_t lane = 0; lane < count; ++lane) data[offsets[lane] + i * step + c] = row[lane];
      }
    }
  }
};

// Whether the transforms support `lines` lines of n points.
bool supports(int64_t n, int64_t lines) { return has_small_factors(n) && (n <= 8192 || lines >= 4); }

// Calls body(first line, lines, first memory, second memory) for groups of lines of `tensor` along `axis`. Each memory
// has room for n + 1 complex points per line.
template <typename Body>
void for_lines(KernelRuntimeContext& context, const Tensor& tensor, int64_t axis, int64_t n, const Body& body) {
  const int64_t lines = tensor.numel() / tensor.size(axis), width = microkernels::f32_microkernels().width;
  const int64_t groups = (lines + width - 1) / width;
  const int64_t workers =
      groups * n * width * 16 < microkernels::kSerialWork ? 1 : std::min(groups, microkernels::worker_count(context));
  const int64_t floats = (2 * (n + 1) * width + 15) / 16 * 16;
  float* const memory = context.allocate_temporary_array<float>(static_cast<size_t>(2 * workers * floats));
  if (!memory) return;
  microkernels::for_workers(context, workers, groups, [&](int64_t worker, int64_t begin, int64_t end) {
    float* const worker_memory = memory + 2 * worker * floats;
    for (int64_t i = begin; i < end; ++i) {
      body(i * width, std::min(width, lines - i * width), worker_memory, worker_memory + floats);
    }
  });
}

void scale_rows(float* rows, int64_t count, float scale) {
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  if (scale != 1) kernels.unary(microkernels::UnaryOp::Affine, rows, rows, count * kernels.width, scale, -0.0f);
}

// Returns the table exp(-pi i k / n) for k <= n / 2.
const float* half_roots(KernelRuntimeContext& context, int64_t n) {
  float* const roots = context.allocate_temporary_array<float>(static_cast<size_t>(n + 2));
  Roots table;
  if (!roots || !table.prepare(context, 2 * n)) return nullptr;
  for (int64_t k = 0; 2 * k <= n; ++k) table.get(k, false, roots + 2 * k);
  return roots;
}

// Transforms few lines, which would leave most lanes of the vectors unused. A line of n = rows * columns points is a
// matrix: its columns are transformed, the elements multiplied by roots of unity, and its rows transformed (Gentleman
// and Sande: Fast Fourier transforms for fun and profit, 1966). Returns false if n has no such factors.
bool few_complex_lines(KernelRuntimeContext& context, const Tensor& tensor, int64_t axis, bool inverse, double scale) {
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t n = tensor.size(axis), width = kernels.width, lines = tensor.numel() / n;
  int64_t rows = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (rows >= width && n % rows != 0) --rows;
  if (2 * lines > width || rows < width || !has_small_factors(n)) return false;
  const int64_t columns = n / rows, floats = 2 * (columns + 1) * width;
  Passes by_column, by_row;
  Roots roots;
  float* const memory = context.allocate_temporary_array<float>(static_cast<size_t>(2 * floats + 2 * n));
  if (!memory || !by_column.prepare(context, rows, inverse) || !by_row.prepare(context, columns, inverse) ||
      !roots.prepare(context, n)) {
    return true;
  }
  float *const a = memory, *const b = memory + floats, *const matrix = memory + 2 * floats;
  for (int64_t line = 0; line < lines; ++line) {
    Lines all(tensor, axis);
    all.set_offsets(tensor, axis, line, 1);
    const int64_t base = all.offsets[0], step = all.step;
    for (int64_t first = 0; first < columns; first += width) {
      const int64_t count = std::min(width, columns - first);
      Lines(all.data, step * columns, base + first * step, step).read(count, rows, width, a);
      float* const result = by_column.run(kernels, a, b);
      for (int64_t k = 1; k < rows; ++k) {
        float* const point = result + 2 * k * width;
        for (int64_t lane = 0; lane < count; ++lane) {
          float root[2];
          roots.get(k * (first + lane), inverse, root);
          const float real = point[lane], imaginary = point[width + lane];
          point[lane] = real * root[0] - imaginary * root[1];
          point[width + lane] = real * root[1] + imaginary * root[0];
        }
      }
      Lines(matrix, 2 * columns, 2 * first, 2).write(count, rows, width, result);
    }
    for (int64_t first = 0; first < rows; first += width) {
      const int64_t count = std::min(width, rows - first);
      Lines(matrix, 2, 2 * first * columns, 2 * columns).read(count, columns, width, a);
      float* const result = by_row.run(kernels, a, b);
      scale_rows(result, 2 * columns, static_cast<float>(scale));
      Lines(all.data, step * rows, base + first * step, step).write(count, columns, width, result);
    }
  }
  return true;
}

void complex_lines(KernelRuntimeContext& context, const Tensor& tensor, int64_t axis, bool inverse, double scale) {
  const int64_t n = tensor.size(axis);
  if (tensor.scalar_type() == ScalarType::ComplexFloat && tensor.numel() > 0 &&
      few_complex_lines(context, tensor, axis, inverse, scale)) {
    return;
  }
  if (tensor.scalar_type() != ScalarType::ComplexFloat || tensor.numel() == 0 || !supports(n, tensor.numel() / n)) {
    return transform_lines(context, tensor, axis, inverse, scale);
  }
  Passes passes;
  if (!passes.prepare(context, n, inverse)) return;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  for_lines(context, tensor, axis, n, [&](int64_t first, int64_t count, float* a, float* b) {
    Lines lines(tensor, axis);
    lines.set_offsets(tensor, axis, first, count);
    lines.read(count, n, kernels.width, a);
    float* const result = passes.run(kernels, a, b);
    scale_rows(result, 2 * n, static_cast<float>(scale));
    lines.write(count, n, kernels.width, result);
  });
}

void lines_from_real(KernelRuntimeContext& context, const Tensor& in, int64_t axis, double scale, const Tensor& out) {
  const int64_t n = in.size(axis), points = out.size(axis);
  const bool is_even = n % 2 == 0;
  if (in.scalar_type() != ScalarType::Float || in.numel() == 0 || !supports(n, in.numel() / n)) {
    return transform_real_lines(context, in, axis, scale, out);
  }
  Passes passes;
  const float* const roots = is_even ? half_roots(context, n / 2) : nullptr;
  if ((is_even && !roots) || !passes.prepare(context, is_even ? n / 2 : n, false)) return;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t width = kernels.width;
  for_lines(context, in, axis, n, [&](int64_t first, int64_t count, float* a, float* b) {
    Lines from(in, axis), to(out, axis);
    from.set_offsets(in, axis, first, count);
    to.set_offsets(out, axis, first, count);
    if (is_even) {
      from.read(count, n, width, a);
      float* const result = passes.run(kernels, a, b);
      float* const spectrum = result == a ? b : a;
      kernels.fft_of_real(n / 2, roots, static_cast<float>(scale), result, spectrum);
      for (int64_t i = n / 2 + 1; i < points; ++i) {  // the other half has the conjugates
        for (int64_t lane = 0; lane < width; ++lane) {
          spectrum[2 * i * width + lane] = spectrum[2 * (n - i) * width + lane];
          spectrum[(2 * i + 1) * width + lane] = -spectrum[(2 * (n - i) + 1) * width + lane];
        }
      }
      return to.write(count, points, width, spectrum);
    }
    from.read(count, n, width, b);
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(a + 2 * i * width, b + i * width, static_cast<size_t>(width) * sizeof(float));
      std::fill_n(a + (2 * i + 1) * width, width, 0.0f);
    }
    float* const result = passes.run(kernels, a, b);
    scale_rows(result, 2 * points, static_cast<float>(scale));
    to.write(count, points, width, result);
  });
}

void lines_to_real(KernelRuntimeContext& context, const Tensor& in, int64_t axis, double scale, const Tensor& out) {
  const int64_t n = out.size(axis), half = n / 2, given = std::min(in.size(axis), half + 1);
  const bool is_even = n % 2 == 0;
  if (out.scalar_type() != ScalarType::Float || out.numel() == 0 || !supports(n, out.numel() / n)) {
    return transform_lines_to_real(context, in, axis, scale, out);
  }
  Passes passes;
  const float* const roots = is_even ? half_roots(context, half) : nullptr;
  if ((is_even && !roots) || !passes.prepare(context, is_even ? half : n, true)) return;
  const microkernels::F32Microkernels& kernels = microkernels::f32_microkernels();
  const int64_t width = kernels.width, row = 2 * width;
  for_lines(context, out, axis, n, [&](int64_t first, int64_t count, float* a, float* b) {
    Lines from(in, axis), to(out, axis);
    from.set_offsets(in, axis, first, count);
    to.set_offsets(out, axis, first, count);
    from.read(count, given, width, a);
    std::fill(a + given * row, a + (half + 1) * row, 0.0f);
    // A point that is its own conjugate is real.
    std::fill_n(a + width, width, 0.0f);
    if (is_even) {
      std::fill_n(a + half * row + width, width, 0.0f);
      kernels.fft_to_real(half, roots, static_cast<float>(scale), a, b);
      return to.write(count, n, width, passes.run(kernels, b, a));
    }
    for (int64_t i = 1; i <= half; ++i) {
      for (int64_t lane = 0; lane < width; ++lane) {
        a[(n - i) * row + lane] = a[i * row + lane];
        a[(n - i) * row + width + lane] = -a[i * row + width + lane];
      }
    }
    float* const result = passes.run(kernels, a, b);
    float* const real = result == a ? b : a;
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(real + i * width, result + i * row, static_cast<size_t>(width) * sizeof(float));
    }
    scale_rows(real, n, static_cast<float>(scale));
    to.write(count, n, width, real);
  });
}

}  // namespace

const LineTransforms kLineTransforms = {&complex_lines, &lines_from_real, &lines_to_real};

}  // namespace rushlight::optimized
