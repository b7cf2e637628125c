// Int8WinogradMicrokernels, in namespace rushlight::microkernels::RL_ISA, which defines the names that
// gemm/impl/int8_sums.h needs, for pairs of int16.
#pragma once

#include "microkernels/gemm/impl/int8_sums.h"
#include "microkernels/simd/inline.h"
#include "microkernels/winograd/int8.h"

namespace rushlight::microkernels::RL_ISA {

typedef int16_t Shorts __attribute__((vector_size(kLanes * 4)));
typedef int16_t LooseShorts __attribute__((vector_size(kLanes * 4), aligned(2), may_alias));
typedef int32_t Lanes __attribute__((vector_size(kLanes * 4)));
typedef int32_t LooseLanes __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
// A vector of sums modulo 2^32.
typedef uint32_t Wraps __attribute__((vector_size(kLanes * 4)));
typedef uint32_t LooseWraps __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

typedef int8_t Bytes __attribute__((vector_size(kLanes * 2)));
typedef int8_t LooseBytes __attribute__((vector_size(kLanes * 2), aligned(1), may_alias));

RL_INLINE Shorts widen_shorts(const int8_t* p, Bytes sign_mask) {
  return __builtin_convertvector(*reinterpret_cast<const LooseBytes*>(p) ^ sign_mask, Shorts);
}

// The matrices of F(m x m, 3 x 3). For m = 4, the points are 0, 1, -1, 2, -2 and infinity. The rows of the filter
// matrix are multiplied by 1, 2, 2, 1 (m = 2) or by 4, -6, -6, 24, 24, 1 (m = 4) to make them integers. The output
// matrix compensates for this, except for a remaining factor of 2 in each row (m = 2), or of 24, 12, 6, 6 (m = 4).
template <int M>
struct IntegerWinograd;

template <>
struct IntegerWinograd<2> {
  static constexpr int kShifts[] = {1, 1};
  static constexpr uint32_t kInverse = 1;

  RL_INLINE void filter(const Shorts* g, Shorts* u) {
    const Shorts outer = g[0] + g[2];
    u[0] = g[0];
    u[1] = outer + g[1];
    u[2] = outer - g[1];
    u[3] = g[2];
  }
  RL_INLINE void input(const Shorts* d, Shorts* v) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
  }
  RL_INLINE void output(const Wraps* p, Wraps* y) {
    y[0] = (p[0] << 1) + (p[1] + p[2]);
    y[1] = (p[1] - p[2]) - (p[3] << 1);
  }
};

template <>
struct IntegerWinograd<4> {
  static constexpr int kShifts[] = {3, 2, 1, 1};
  static constexpr uint32_t kInverse = 954437177u;  // 9 * kInverse = 1 modulo 2^32

  RL_INLINE void filter(const Shorts* g, Shorts* u) {
    const Shorts outer = g[0] + g[2], far = g[0] + (g[2] << 2), twice = g[1] << 1;
    u[0] = g[0];
    u[1] = outer + g[1];
    u[2] = outer - g[1];
    u[3] = far + twice;
    u[4] = far - twice;
    u[5] = g[2];
  }
  // The magnitudes of v are at most 10 times the largest magnitude of d.
  RL_INLINE void input(const Shorts* d, Shorts* v) {
    const Shorts c = d[4] - d[2], e = (d[3] - d[1]) << 1;
    const Shorts a = d[4] - (d[2] << 2), b = d[3] - (d[1] << 2);
    v[0] = ((d[0] - d[2]) << 2) + c;
    v[1] = a + b;
    v[2] = a - b;
    v[3] = c + e;
    v[4] = c - e;
    v[5] = ((d[1] - d[3]) << 2) + (d[5] - d[3]);
  }
  RL_INLINE void output(const Wraps* p, Wraps* y) {
    const Wraps near = p[1] + p[2], far = p[3] + p[4], near_odd = p[2] - p[1], far_odd = p[3] - p[4];
    y[0] = ((p[0] << 2) + (p[0] << 1)) + (far - (near << 2));
    y[1] = (near_odd << 1) + far_odd;
    y[2] = far - near;
    y[3] = (near_odd + (far_odd << 1)) + ((p[5] << 2) + (p[5] << 1));
  }
};

template <int M>
static void winograd_filters(const int8_t* from, int64_t from_step, int64_t n, int16_t* to, int64_t to_step) {
  constexpr int kIn = M + 2;
  for (int64_t i = 0; i < n; i += 2 * kLanes) {
    Shorts columns[3][kIn];  // [x][y]
    RL_UNROLL for (int x = 0; x < 3; ++x) {
      Shorts g[3];
      RL_UNROLL for (int y = 0; y < 3; ++y) g[y] = widen_shorts(from + (y * 3 + x) * from_step + i, Bytes{});
      IntegerWinograd<M>::filter(g, columns[x]);
    }
    RL_UNROLL for (int y = 0; y < kIn; ++y) {
      const Shorts g[] = {columns[0][y], columns[1][y], columns[2][y]};
      Shorts u[kIn];
      IntegerWinograd<M>::filter(g, u);
      RL_UNROLL for (int x = 0; x < kIn; ++x) {
        *reinterpret_cast<LooseShorts*>(to + (y * kIn + x) * to_step + i) = u[x];
      }
    }
  }
}

template <int M>
static void winograd_input(const int8_t* const* pixels, uint8_t sign_mask, int64_t channels, int16_t* to,
                           int64_t to_step) {
  constexpr int kIn = M + 2;
  const Bytes change = Bytes{} + static_cast<int8_t>(sign_mask);
  for (int64_t c = 0; c < channels; c += 2 * kLanes) {
    Shorts columns[kIn][kIn];  // [x][y]
    RL_UNROLL for (int x = 0; x < kIn; ++x) {
      Shorts d[kIn];
      RL_UNROLL for (int y = 0; y < kIn; ++y) d[y] = widen_shorts(pixels[y * kIn + x] + c, change);
      IntegerWinograd<M>::input(d, columns[x]);
    }
    RL_UNROLL for (int y = 0; y < kIn; ++y) {
      Shorts row[kIn], v[kIn];
      RL_UNROLL for (int x = 0; x < kIn; ++x) row[x] = columns[x][y];
      IntegerWinograd<M>::input(row, v);
      RL_UNROLL for (int x = 0; x < kIn; ++x) {
        *reinterpret_cast<LooseShorts*>(to + (y * kIn + x) * to_step + c) = v[x];
      }
    }
  }
}

template <int M>
static void winograd_output(const int32_t* products, int64_t step, int64_t n, int32_t* to, int64_t line_step,
                            int64_t pixel_step) {
  constexpr int kIn = M + 2;
  for (int64_t j = 0; j < n; j += kLanes) {
    Wraps columns[kIn][M];  // [x][y]
    RL_UNROLL for (int x = 0; x < kIn; ++x) {
      Wraps p[kIn];
      RL_UNROLL for (int y = 0; y < kIn; ++y) {
        p[y] = *reinterpret_cast<const LooseWraps*>(products + (y * kIn + x) * step + j);
      }
      IntegerWinograd<M>::output(p, columns[x]);
    }
    RL_UNROLL for (int y = 0; y < M; ++y) {
      Wraps row[kIn], out[M];
      RL_UNROLL for (int x = 0; x < kIn; ++x) row[x] = columns[x][y];
      IntegerWinograd<M>::output(row, out);
      RL_UNROLL for (int x = 0; x < M; ++x) {
        constexpr const int (&shifts)[M] = IntegerWinograd<M>::kShifts;
        const Lanes sum = reinterpret_cast<Lanes>(out[x] * IntegerWinograd<M>::kInverse) >> (shifts[y] + shifts[x]);
        *reinterpret_cast<LooseLanes*>(to + y * line_step + x * pixel_step + j) = sum;
      }
    }
  }
}

#if RL_VNNI
// VNNI makes only products faster, so that this table has no transforms.
static constexpr Int8WinogradMicrokernels make_int8_winograd() { return {{}, {}, &sums_of<Int16Tile>, {}}; }
#else
static void winograd_filters(int m, const int8_t* from, int64_t from_step, int64_t n, int16_t* to, int64_t to_step) {
  m == 4 ? winograd_filters<4>(from, from_step, n, to, to_step) : winograd_filters<2>(from, from_step, n, to, to_step);
}
static void winograd_input(int m, const int8_t* const* pixels, uint8_t sign_mask, int64_t channels, int16_t* to,
                           int64_t to_step) {
  m == 4 ? winograd_input<4>(pixels, sign_mask, channels, to, to_step)
         : winograd_input<2>(pixels, sign_mask, channels, to, to_step);
}
static void winograd_output(int m, const int32_t* products, int64_t step, int64_t n, int32_t* to, int64_t line_step,
                            int64_t pixel_step) {
  m == 4 ? winograd_output<4>(products, step, n, to, line_step, pixel_step)
         : winograd_output<2>(products, step, n, to, line_step, pixel_step);
}

static constexpr Int8WinogradMicrokernels make_int8_winograd() {
  return {&winograd_filters, &winograd_input, &sums_of<Int16Tile>, &winograd_output};
}
#endif

}  // namespace rushlight::microkernels::RL_ISA
