#pragma once

#include <cstdint>
#include <limits>
#include <utility>

namespace rushlight {

// operator() returns whether x replaces `best`: x is greater (or smaller), or x is the first NaN. is_beyond() ignores
// NaN.
struct Greater {
  template <typename C>
  static bool is_beyond(C x, C best) {
    return x > best;
  }
  template <typename C>
  bool operator()(C x, C best) const {
    return x > best || (x != x && best == best);
  }
};
struct Smaller {
  template <typename C>
  static bool is_beyond(C x, C best) {
    return x < best;
  }
  template <typename C>
  bool operator()(C x, C best) const {
    return x < best || (x != x && best == best);
  }
};

// Finds the best element and its first index, as a reduction (see reduce.h) over at least one element.
template <typename C, typename Better>
struct Extreme {
  struct State {
    C best;
    int64_t index, count;
  };
  State init() const { return {C(0), 0, 0}; }
  void update(State& state, const C* x, int64_t n) const {
    C best = state.count > 0 ? state.best : x[0];
    int64_t index = state.index;
    for (int64_t i = 0; i < n; ++i) {
      if (Better()(x[i], best)) {
        best = x[i];
        index = state.count + i;
      }
    }
    state = {best, index, state.count + n};
  }
  std::pair<C, int64_t> finish(const State& state) const { return {state.best, state.index}; }
};

// Finds only the best element.
template <typename C, typename Better>
struct ExtremeValue {
  struct State {
    C best;
    bool any;
  };
  State init() const { return {C(0), false}; }
  void update(State& state, const C* x, int64_t n) const {
    C lanes[4];
    for (C& lane : lanes) lane = state.any ? state.best : x[0];
    bool nan = state.any && state.best != state.best;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (int64_t k = 0; k < 4; ++k) {
        nan |= x[i + k] != x[i + k];
        lanes[k] = Better::is_beyond(x[i + k], lanes[k]) ? x[i + k] : lanes[k];
      }
    }
    for (; i < n; ++i) {
      nan |= x[i] != x[i];
      lanes[0] = Better::is_beyond(x[i], lanes[0]) ? x[i] : lanes[0];
    }
    for (int64_t k = 1; k < 4; ++k) {
      if (Better::is_beyond(lanes[k], lanes[0])) lanes[0] = lanes[k];
    }
    state = {nan ? std::numeric_limits<C>::quiet_NaN() : lanes[0], true};
  }
  C finish(const State& state) const { return state.best; }
};

// Finds only the index of the best element.
template <typename C, typename Better>
struct ExtremeIndex : Extreme<C, Better> {
  int64_t finish(const typename Extreme<C, Better>::State& state) const { return state.index; }
};

}  // namespace rushlight
