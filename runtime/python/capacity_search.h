#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "python/offset_search.h"

namespace rushlight::python {

// The result of one search. kLimit means that the search reached a limit before it found a plan or proved that there is
// none.
enum class Outcome { kFound, kNoPlan, kLimit };

// The rule by which the search chooses the next section.
enum class Rule { kFewestChoices, kMaxFailures, kLowest, kMinSlack };
inline constexpr int kRules = 4;

// The order in which the search tries buffers: by decreasing lifetime, size, lifetime * size, or lifetime^2 * size.
enum class Order { kLifetime, kSize, kArea, kLongArea };
inline constexpr int kOrders = 4;

// A hash table of the states of the search from which no plan can be reached.
class FailedStates {
 public:
  FailedStates() : hashes_(size_t{1} << kBits) {}

  bool contains(uint64_t hash) const { return hashes_[slot(hash)] == hash || hashes_[slot(hash) ^ 1] == hash; }

  void insert(uint64_t hash) {
    const size_t first = slot(hash);
    // The hash bits that do not select the slot choose which of the two entries is replaced.
    const size_t at = hashes_[first] == 0 || (hash >> 63) == 0 ? first : first ^ 1;
    hashes_[at] = hash;
  }

 private:
  static constexpr int kBits = 20;
  static size_t slot(uint64_t hash) { return hash & ((size_t{1} << kBits) - 1); }

  std::vector<uint64_t> hashes_;
};

// Searches for a plan within a capacity. capacity_search.cpp explains the algorithm.
class CapacitySearch {
 public:
  CapacitySearch(const SearchProblem& problem, const SearchBudget& budget);

  // Searches for a plan whose peak is at most `capacity`, and places at most `nodes` buffers.
  Outcome run(int32_t capacity, int64_t nodes, Rule rule);

  // Sets the order in which run() tries the buffers. The sort keys vary by the fraction `noise` at random.
  void set_order(Order order, double noise);

  // Return the plan that run() found, in the order of the problem, and its peak.
  std::vector<int32_t> offsets() const;
  int32_t peak() const;

  bool exhausted() const { return steps_ >= budget_.steps || timed_out_; }
  bool timed_out() const { return timed_out_; }
  int64_t steps() const { return steps_; }

 private:
  struct Change {
    int32_t section, height;
  };
  struct Part {
    int32_t slack, first, end;
  };
  struct Choice {
    int32_t section, first, end;  // the chosen section, and its valley [first, end)
  };

  bool solve_parts(int32_t first, int32_t end);
  bool solve(int32_t first, int32_t end);
  bool try_candidates(size_t from, int32_t height, int32_t first, int32_t end);
  bool infer(int32_t first, int32_t end);
  bool fits_above(int32_t first, int32_t end);
  Choice choose(int32_t first, int32_t end);
  double score(int32_t section, int32_t choices, int32_t smallest) const;
  int32_t collect_candidates(const Choice& choice, int32_t first, int32_t end);
  bool is_repeated(int32_t buffer) const;
  uint64_t hash(int32_t first, int32_t end) const;
  void place(int32_t buffer, int32_t height);
  void remove(int32_t buffer);
  void raise(int32_t section, int32_t height);
  void undo(size_t changes);
  bool spend();

  // Buffers in the order of their first section; begin_[s] is the first buffer that begins at section s or later.
  std::vector<SearchBuffer> buffers_;
  std::vector<int32_t> original_;
  std::vector<int32_t> begin_;
  std::vector<bool> same_as_last_;
  std::vector<uint64_t> codes_;
  int32_t sections_;

  // For each section: the filled height, the total size and number of the unplaced buffers, the number of unplaced
  // buffers that also cover the previous section, and the number of failures of the search there.
  std::vector<int32_t> height_, remaining_, count_, crossing_;
  std::vector<double> failures_;
  // For each buffer.
  std::vector<char> placed_;
  std::vector<int32_t> offset_, lowest_, rank_;

  // Stacks of the recursive search.
  std::vector<Change> changes_;
  std::vector<int32_t> path_, candidates_;
  std::vector<uint64_t> hashes_;
  std::vector<Part> parts_;
  // Temporary memory of one call.
  std::vector<int32_t> section_scratch_, choices_, valley_of_, smallest_;
  std::vector<std::pair<int32_t, int32_t>> valleys_;
  std::vector<std::pair<int32_t, int32_t>> by_lowest_;

  SearchBudget budget_;
  FailedStates failed_;
  Rule rule_ = Rule::kFewestChoices;
  int32_t capacity_ = 0;
  int64_t steps_ = 0, next_look_ = 0, nodes_left_ = 0;
  double start_;
  uint64_t random_ = 1;
  bool stopped_ = false, timed_out_ = false;
};

}  // namespace rushlight::python
