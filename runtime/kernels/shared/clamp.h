#pragma once

namespace rushlight {

// Return the larger, or the smaller, of two numbers. If the bound is NaN, the result is NaN.
template <typename C>
C at_least(C x, C low) {
  return x < low || low != low ? low : x;
}
template <typename C>
C at_most(C x, C high) {
  return x > high || high != high ? high : x;
}

// Returns x limited to [low, high]: NaN if x or a bound is NaN, and `high` if low > high.
template <typename C>
C limited(C x, C low, C high) {
  return x != x ? x : low != low ? low : at_most(at_least(x, low), high);
}

}  // namespace rushlight
