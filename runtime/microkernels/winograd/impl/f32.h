// The transforms of F(2 x 2, 3 x 3) (Winograd 1980; Lavin and Gray 2016): 2 x 2 outputs from 4 x 4 inputs with 16
// products.
#pragma once

#include "microkernels/elementwise/impl/f32_copy.h"
#include "microkernels/simd/vec.h"

namespace rushlight::microkernels::RL_ISA {

// u = G g with G = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1]
RL_INLINE void winograd_g(const Floats (&g)[3], Floats (&u)[4]) {
  const Floats outer = g[0] + g[2];
  u[0] = g[0];
  u[1] = 0.5f * (outer + g[1]);
  u[2] = 0.5f * (outer - g[1]);
  u[3] = g[2];
}

// v = B^T d with B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1]
RL_INLINE void winograd_b(const Floats (&d)[4], Floats (&v)[4]) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}

// y = A^T m with A^T = [1 1 1 0; 0 1 -1 -1]
RL_INLINE void winograd_a(const Floats (&m)[4], Floats (&y)[2]) {
  y[0] = (m[0] + m[1]) + m[2];
  y[1] = (m[1] - m[2]) - m[3];
}

static void winograd_weights(const float* weights, int64_t n, float* to, int64_t stride) {
  float lanes[9][kWidth] = {};
  for (int64_t i = 0; i < n; i += kWidth) {
    const int64_t count = n - i < kWidth ? n - i : kWidth;
    for (int64_t j = 0; j < count; ++j) {
      RL_UNROLL for (int tap = 0; tap < 9; ++tap) lanes[tap][j] = weights[(i + j) * 9 + tap];
    }
    Floats columns[3][4];
    RL_UNROLL for (int x = 0; x < 3; ++x) {
      winograd_g({load(lanes[x]), load(lanes[3 + x]), load(lanes[6 + x])}, columns[x]);
    }
    RL_UNROLL for (int y = 0; y < 4; ++y) {
      Floats u[4];
      winograd_g({columns[0][y], columns[1][y], columns[2][y]}, u);
      RL_UNROLL for (int x = 0; x < 4; ++x) {
        float* place = to + (y * 4 + x) * stride + i;
        count == kWidth ? store(place, u[x]) : store_few(place, u[x], count);
      }
    }
  }
}

static void winograd_input(const float* source, const int32_t* offsets, int64_t n, float* to, int64_t stride) {
  for (int64_t i = 0; i < n; i += kWidth) {
    Floats columns[4][4];
    RL_UNROLL for (int x = 0; x < 4; ++x) {
      winograd_b({load(source + offsets[x] + i), load(source + offsets[4 + x] + i), load(source + offsets[8 + x] + i),
                  load(source + offsets[12 + x] + i)},
                 columns[x]);
    }
    RL_UNROLL for (int y = 0; y < 4; ++y) {
      Floats v[4];
      winograd_b({columns[0][y], columns[1][y], columns[2][y], columns[3][y]}, v);
      RL_UNROLL for (int x = 0; x < 4; ++x) store(to + (y * 4 + x) * stride + i, v[x]);
    }
  }
}

static void winograd_output(const float* products, int64_t stride, int64_t n, float bias, float* upper, float* lower) {
  for (int64_t i = 0; i < n; i += kWidth) {
    Floats columns[4][2];
    RL_UNROLL for (int x = 0; x < 4; ++x) {
      winograd_a({load(products + x * stride + i), load(products + (4 + x) * stride + i),
                  load(products + (8 + x) * stride + i), load(products + (12 + x) * stride + i)},
                 columns[x]);
    }
    RL_UNROLL for (int y = 0; y < 2; ++y) {
      Floats out[2];
      winograd_a({columns[0][y], columns[1][y], columns[2][y], columns[3][y]}, out);
      float* row = (y == 0 ? upper : lower) + 2 * i;
      const Floats even = out[0] + bias, odd = out[1] + bias;
      store(row, interleave_low(even, odd));
      store(row + kWidth, interleave_high(even, odd));
    }
  }
}

}  // namespace rushlight::microkernels::RL_ISA
