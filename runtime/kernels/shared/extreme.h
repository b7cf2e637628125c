#pragma once

#include <cstdint>
#include <utility>

namespace rushlight {

// Whether x goes before `best`: greater or smaller than it, or the first NaN.
struct Greater {
  template <typename C>
  bool operator()(C x, C best) const {
    return x > best || (x != x && best == best);
  }
};
struct Smaller {
  template <typename C>
  bool operator()(C x, C best) const {
    return x < best || (x != x && best == best);
  }
};

// The first best element and its index, as a reduction (see reduce.h) over at least one element.
template <typename C, typename Better>
struct Extreme {
  struct State {
    C best;
    int64_t index, seen;
  };
  State init() const { return {C(0), 0, 0}; }
  void update(State& state, const C* x, int64_t n) const {
    C best = state.seen > 0 ? state.best : x[0];
    int64_t index = state.index;
    for (int64_t i = 0; i < n; ++i) {
      if (Better()(x[i], best)) {
        best = x[i];
        index = state.seen + i;
      }
    }
    state = {best, index, state.seen + n};
  }
  std::pair<C, int64_t> finish(const State& state) const { return {state.best, state.index}; }
};

// Its parts alone.
template <typename C, typename Better>
struct ExtremeValue : Extreme<C, Better> {
  C finish(const typename Extreme<C, Better>::State& state) const { return state.best; }
};
template <typename C, typename Better>
struct ExtremeIndex : Extreme<C, Better> {
  int64_t finish(const typename Extreme<C, Better>::State& state) const { return state.index; }
};

}  // namespace rushlight
