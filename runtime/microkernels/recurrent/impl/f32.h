// The elementwise part of a time step of a recurrent layer, after the GEMMs.
#pragma once

#include "microkernels/simd/math.h"
#include "microkernels/simd/vec.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::microkernels::RL_ISA {

static_assert(kUnits % kWidth == 0, "a block must consist of whole vectors");

static void lstm(const RecurrentCell& t) {
  for (int64_t u = 0; u < t.units; u += kWidth) {
    const int64_t at = u / kUnits * 4 * kUnits + u % kUnits;
    const auto gate = [&](int64_t i) { return load(t.gates + at + i * kUnits) + load(t.projected + at + i * kUnits); };
    const Floats kept = sigmoid(gate(1)) * load(t.cell + u);
    const Floats cell = sigmoid(gate(0)) * tanh(gate(2)) + kept;
    store(t.cell + u, cell);
    const Floats out = sigmoid(gate(3)) * tanh(cell);
    t.units - u >= kWidth ? store(t.out + u, out) : store_few(t.out + u, out, t.units - u);
  }
}

static void gru(const RecurrentCell& t) {
  for (int64_t u = 0; u < t.units; u += kWidth) {
    const int64_t at = u / kUnits * 3 * kUnits + u % kUnits;
    const bool whole = t.units - u >= kWidth;
    const float *gates = t.gates + at, *projected = t.projected + at;
    const Floats reset = sigmoid(load(gates) + load(projected));
    const Floats update = sigmoid(load(gates + kUnits) + load(projected + kUnits));
    const Floats fresh = tanh(load(projected + 2 * kUnits) + reset * load(gates + 2 * kUnits));
    const Floats previous = whole ? load(t.previous + u) : load_few(t.previous + u, t.units - u);
    const Floats out = (previous - fresh) * update + fresh;
    whole ? store(t.out + u, out) : store_few(t.out + u, out, t.units - u);
  }
}

}  // namespace rushlight::microkernels::RL_ISA
