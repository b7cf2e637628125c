#pragma once

#include <cstdint>
#include <vector>

namespace rushlight::python {

// A buffer with its lifetime [first, end) in sections, its size and its alignment in units.
struct SearchBuffer {
  int32_t size, first, end, alignment;
};

// A section is a step of the program at which a largest set of buffers is alive: the live set of any other step is part
// of the live set of a section.
struct SearchProblem {
  std::vector<SearchBuffer> buffers;
  int32_t sections = 0;
};

// The search ends after `steps` units of work, which are the same on every machine, or after so many seconds of the
// thread's processor time, which does not pass while other programs run.
struct SearchBudget {
  int64_t steps;
  double seconds;
};

struct SearchResult {
  // The offset of each buffer in units; empty if no plan is below the given peak.
  std::vector<int32_t> offsets;
  int32_t peak = 0;
  // No plan has a smaller peak.
  int32_t bound = 0;
  int64_t steps = 0;
  bool timed_out = false;
};

// Looks for the plan with the smallest peak. `peak` is that of a known plan, and `bound` a lower bound of all peaks.
SearchResult minimize_peak(const SearchProblem& problem, int32_t bound, int32_t peak, const SearchBudget& budget);

}  // namespace rushlight::python
