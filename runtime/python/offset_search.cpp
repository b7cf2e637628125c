#include "python/offset_search.h"

#include <algorithm>
#include <cstdint>

#include "python/capacity_search.h"

namespace rushlight::python {

namespace {

// Runs the search at capacities between the bound and the best peak, with each rule and order in turn. The limits of
// one search increase from round to round.
class Minimizer {
 public:
  Minimizer(const SearchProblem& problem, int32_t bound, int32_t peak, const SearchBudget& budget)
      : search_(problem, budget), nodes_(static_cast<int64_t>(problem.buffers.size()) + 128) {
    result_.bound = bound;
    result_.peak = peak;
  }

  SearchResult run() {
    constexpr int64_t kMaxNodes = int64_t{1} << 40;
    while (open()) {
      // Many problems have a plan at their bound, and a search without slack ends early.
      int32_t missed = attempt(result_.bound) ? result_.bound - 1 : result_.bound;
      while (open() && missed + 1 < result_.peak) {
        const int32_t capacity = std::max(missed + (result_.peak - missed) / 2, result_.bound);
        if (!attempt(capacity)) missed = capacity;
      }
      nodes_ = std::min(nodes_ * 3 / 2, kMaxNodes);
      tries_ = std::min(tries_ * 3 / 2, kMaxTries);
    }
    result_.steps = search_.steps();
    result_.timed_out = search_.timed_out();
    return result_;
  }

 private:
  bool open() const { return result_.bound < result_.peak && !search_.exhausted(); }

  // Returns whether there is a plan within the capacity. If not, the bound may have increased.
  bool attempt(int32_t capacity) {
    for (int i = 0; i < tries_; ++i, ++run_) {
      const int order = run_ / kRules % kOrders, rule = run_ % kRules;
      search_.set_order(static_cast<Order>(order), run_ < kRules * kOrders ? 0 : 0.3);
      const Outcome outcome = search_.run(capacity, nodes_, static_cast<Rule>(rule));
      if (outcome == Outcome::kFound) {
        result_.peak = search_.peak();
        result_.offsets = search_.offsets();
        return true;
      }
      if (outcome == Outcome::kNoPlan) {
        result_.bound = capacity + 1;
        return false;
      }
      if (search_.exhausted()) return false;
    }
    return false;
  }

  static constexpr int kMaxTries = 1 << 10;

  CapacitySearch search_;
  int64_t nodes_;
  int tries_ = 4;
  uint32_t run_ = 0;
  SearchResult result_;
};

}  // namespace

SearchResult minimize_peak(const SearchProblem& problem, int32_t bound, int32_t peak, const SearchBudget& budget) {
  return Minimizer(problem, bound, peak, budget).run();
}

}  // namespace rushlight::python
