// The functions of a vector, or two, that operations name.
#pragma once

#include "microkernels/simd/math.h"
#include "microkernels/tables/f32.h"

namespace rushlight::microkernels::RL_ISA {

RL_INLINE Floats reciprocal(Floats x) { return 1.0f / x; }

// Calls body(function of a vector).
template <typename Body>
RL_INLINE void with_unary(UnaryOp op, float p, float q, const Body& body) {
  const Floats low = splat(p), high = splat(q);
  switch (op) {
    case UnaryOp::Abs:
      return body([](Floats v) { return abs(v); });
    case UnaryOp::Neg:
      return body([](Floats v) { return -v; });
    case UnaryOp::Relu:
      return body([](Floats v) { return at_least(v, Floats{}); });
    case UnaryOp::Clamp:
      return body([=](Floats v) { return at_most(at_least(v, low), high); });
    case UnaryOp::LeakyRelu:
      return body([=](Floats v) { return select(v > 0.0f, v, v * low); });
    case UnaryOp::HardSigmoid:
      return body([](Floats v) { return at_most(at_least(v + 3.0f, Floats{}), splat(6.0f)) * (1.0f / 6.0f); });
    case UnaryOp::HardSwish:
      return body([](Floats v) { return v * at_most(at_least(v + 3.0f, Floats{}), splat(6.0f)) * (1.0f / 6.0f); });
    case UnaryOp::Sqrt:
      return body([](Floats v) { return sqrt(v); });
    case UnaryOp::Rsqrt:
      return body([](Floats v) { return 1.0f / sqrt(v); });
    case UnaryOp::Reciprocal:
      return body([](Floats v) { return reciprocal(v); });
    case UnaryOp::Square:
      return body([](Floats v) { return v * v; });
    case UnaryOp::Cube:
      return body([](Floats v) { return v * v * v; });
    case UnaryOp::Affine:
      return body([=](Floats v) { return low * v + high; });
    case UnaryOp::ReciprocalSquare:
      return body([](Floats v) { return reciprocal(v * v); });
    case UnaryOp::Exp:
      return body([](Floats v) { return exp(v); });
    case UnaryOp::Log:
      return body([](Floats v) { return log(v); });
    case UnaryOp::Tanh:
      return body([](Floats v) { return tanh(v); });
    case UnaryOp::Erf:
      return body([](Floats v) { return erf(v); });
    case UnaryOp::Sigmoid:
      return body([](Floats v) { return sigmoid(v); });
    case UnaryOp::Silu:
      return body([](Floats v) { return silu(v); });
    case UnaryOp::Gelu:
      return body([](Floats v) { return gelu(v); });
    case UnaryOp::GeluTanh:
      return body([](Floats v) { return gelu_tanh(v); });
  }
}

// NaN if either is.
RL_INLINE Floats maximum(Floats a, Floats b) { return select((a > b) | (a != a), a, b); }
RL_INLINE Floats minimum(Floats a, Floats b) { return select((a < b) | (a != a), a, b); }

// Calls body(function of two vectors).
template <typename Body>
RL_INLINE void with_binary(BinaryOp op, float p, const Body& body) {
  const Floats scale = splat(p);
  switch (op) {
    case BinaryOp::Add:
      return body([](Floats u, Floats v) { return u + v; });
    case BinaryOp::AddScaled:
      return body([=](Floats u, Floats v) { return u + scale * v; });
    case BinaryOp::Sub:
      return body([](Floats u, Floats v) { return u - v; });
    case BinaryOp::Mul:
      return body([](Floats u, Floats v) { return u * v; });
    case BinaryOp::Div:
      return body([](Floats u, Floats v) { return u / v; });
    case BinaryOp::Maximum:
      return body([](Floats u, Floats v) { return maximum(u, v); });
    case BinaryOp::Minimum:
      return body([](Floats u, Floats v) { return minimum(u, v); });
  }
}

}  // namespace rushlight::microkernels::RL_ISA
