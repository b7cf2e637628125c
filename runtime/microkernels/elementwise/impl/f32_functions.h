// The vector functions of UnaryOp and BinaryOp.
#pragma once

#include "microkernels/simd/math.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/selected.h"

namespace rushlight::microkernels::RL_ISA {

RL_INLINE Floats reciprocal(Floats x) { return 1.0f / x; }

// Calls body(f) with the vector function f of `op`, if f is short and the build contains it.
template <typename Body>
RL_INLINE void with_cheap_unary(UnaryOp op, float p, float q, const Body& body) {
  [[maybe_unused]] const Floats low = splat(p), high = splat(q);
  switch (op) {
    case UnaryOp::Abs:
      if constexpr (is_selected(UnaryOp::Abs)) body([](Floats v) { return abs(v); });
      return;
    case UnaryOp::Neg:
      if constexpr (is_selected(UnaryOp::Neg)) body([](Floats v) { return -v; });
      return;
    case UnaryOp::Relu:
      if constexpr (is_selected(UnaryOp::Relu)) body([](Floats v) { return at_least(v, Floats{}); });
      return;
    case UnaryOp::Clamp:
      if constexpr (is_selected(UnaryOp::Clamp)) body([=](Floats v) { return at_most(at_least(v, low), high); });
      return;
    case UnaryOp::LeakyRelu:
      if constexpr (is_selected(UnaryOp::LeakyRelu)) body([=](Floats v) { return select(v > 0.0f, v, v * low); });
      return;
    case UnaryOp::HardSigmoid:
      if constexpr (is_selected(UnaryOp::HardSigmoid))
        body([](Floats v) { return at_most(at_least(v + 3.0f, Floats{}), splat(6.0f)) * (1.0f / 6.0f); });
      return;
    case UnaryOp::HardSwish:
      if constexpr (is_selected(UnaryOp::HardSwish))
        body([](Floats v) { return v * at_most(at_least(v + 3.0f, Floats{}), splat(6.0f)) * (1.0f / 6.0f); });
      return;
    case UnaryOp::Sqrt:
      if constexpr (is_selected(UnaryOp::Sqrt)) body([](Floats v) { return sqrt(v); });
      return;
    case UnaryOp::Rsqrt:
      if constexpr (is_selected(UnaryOp::Rsqrt)) body([](Floats v) { return 1.0f / sqrt(v); });
      return;
    case UnaryOp::Reciprocal:
      if constexpr (is_selected(UnaryOp::Reciprocal)) body([](Floats v) { return reciprocal(v); });
      return;
    case UnaryOp::Square:
      if constexpr (is_selected(UnaryOp::Square)) body([](Floats v) { return v * v; });
      return;
    case UnaryOp::Cube:
      if constexpr (is_selected(UnaryOp::Cube)) body([](Floats v) { return v * v * v; });
      return;
    case UnaryOp::Affine:
      if constexpr (is_selected(UnaryOp::Affine)) body([=](Floats v) { return low * v + high; });
      return;
    case UnaryOp::ReciprocalSquare:
      if constexpr (is_selected(UnaryOp::ReciprocalSquare)) body([](Floats v) { return reciprocal(v * v); });
      return;
    default:
      return;
  }
}

// Calls body(f) with the vector function f of `op`, if the build contains it.
template <typename Body>
RL_INLINE void with_unary(UnaryOp op, float p, float q, const Body& body) {
  [[maybe_unused]] const Floats low = splat(p), high = splat(q);
  switch (op) {
    case UnaryOp::Exp:
      if constexpr (is_selected(UnaryOp::Exp)) body([](Floats v) { return exp(v); });
      return;
    case UnaryOp::Log:
      if constexpr (is_selected(UnaryOp::Log)) body([](Floats v) { return log(v); });
      return;
    case UnaryOp::Tanh:
      if constexpr (is_selected(UnaryOp::Tanh)) body([](Floats v) { return tanh(v); });
      return;
    case UnaryOp::Erf:
      if constexpr (is_selected(UnaryOp::Erf)) body([](Floats v) { return erf(v); });
      return;
    case UnaryOp::Sigmoid:
      if constexpr (is_selected(UnaryOp::Sigmoid)) body([](Floats v) { return sigmoid(v); });
      return;
    case UnaryOp::Silu:
      if constexpr (is_selected(UnaryOp::Silu)) body([](Floats v) { return silu(v); });
      return;
    case UnaryOp::Gelu:
      if constexpr (is_selected(UnaryOp::Gelu)) body([](Floats v) { return gelu(v); });
      return;
    case UnaryOp::GeluTanh:
      if constexpr (is_selected(UnaryOp::GeluTanh)) body([](Floats v) { return gelu_tanh(v); });
      return;
    case UnaryOp::Sin:
      if constexpr (is_selected(UnaryOp::Sin)) body([](Floats v) { return sin(v); });
      return;
    case UnaryOp::Cos:
      if constexpr (is_selected(UnaryOp::Cos)) body([](Floats v) { return cos(v); });
      return;
    case UnaryOp::Log1p:
      if constexpr (is_selected(UnaryOp::Log1p)) body([](Floats v) { return log1p(v); });
      return;
    case UnaryOp::Expm1:
      if constexpr (is_selected(UnaryOp::Expm1)) body([](Floats v) { return expm1(v); });
      return;
    case UnaryOp::Log2:
      if constexpr (is_selected(UnaryOp::Log2)) body([](Floats v) { return log2(v); });
      return;
    case UnaryOp::Log10:
      if constexpr (is_selected(UnaryOp::Log10)) body([](Floats v) { return log10(v); });
      return;
    case UnaryOp::Softplus:
      if constexpr (is_selected(UnaryOp::Softplus)) body([=](Floats v) { return softplus(v, low, high); });
      return;
    case UnaryOp::Mish:
      if constexpr (is_selected(UnaryOp::Mish)) body([](Floats v) { return mish(v); });
      return;
    case UnaryOp::Elu:
      if constexpr (is_selected(UnaryOp::Elu))
        body([=](Floats v) { return select(v > 0.0f, v * high, expm1(v) * low); });
      return;
    case UnaryOp::Floor:
      if constexpr (is_selected(UnaryOp::Floor)) body([](Floats v) { return floor(v); });
      return;
    case UnaryOp::Ceil:
      if constexpr (is_selected(UnaryOp::Ceil)) body([](Floats v) { return ceil(v); });
      return;
    case UnaryOp::Trunc:
      if constexpr (is_selected(UnaryOp::Trunc)) body([](Floats v) { return trunc(v); });
      return;
    case UnaryOp::Round:
      if constexpr (is_selected(UnaryOp::Round)) body([](Floats v) { return round(v); });
      return;
    case UnaryOp::Sign:
      if constexpr (is_selected(UnaryOp::Sign)) body([](Floats v) { return sign(v); });
      return;
    default:
      return with_cheap_unary(op, p, q, body);
  }
}

// Returns the larger operand. If an operand is NaN, returns NaN.
RL_INLINE Floats maximum(Floats a, Floats b) { return select((a > b) | (a != a), a, b); }
RL_INLINE Floats minimum(Floats a, Floats b) { return select((a < b) | (a != a), a, b); }

// Calls body(f) with the vector function f of `op`, if f is short.
template <typename Body>
RL_INLINE void with_cheap_binary(BinaryOp op, float p, const Body& body) {
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
    default:
      return;
  }
}

// Calls body(f) with the vector function f of `op`.
template <typename Body>
RL_INLINE void with_binary(BinaryOp op, float p, const Body& body) {
  if (op == BinaryOp::Atan2) return body([](Floats u, Floats v) { return atan2(u, v); });
  with_cheap_binary(op, p, body);
}

}  // namespace rushlight::microkernels::RL_ISA
