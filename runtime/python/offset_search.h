#pragma once

#include <cstdint>
#include <vector>

namespace rushlight::python {

// A buffer with its lifetime [first, end) in sections, its size and its alignment in units.
struct SearchBuffer {
  int32_t size, first, end, alignment;
};

// A section is a step of the program whose set of live buffers is maximal: the live set of any other step is a subset
// of the live set of a section.
struct SearchProblem {
  std::vector<SearchBuffer> buffers;
  int32_t sections = 0;
};

// The search ends after `steps` units of work or after `seconds` of processor time of the thread. The units of work do
// not depend on the machine. The processor time does not advance while other programs run.
struct SearchBudget {
  int64_t steps;
  double seconds;
};

struct SearchResult {
  // The offset of each buffer in units; empty if no plan is below the given peak.
  std::vector<int32_t> offsets;
  int32_t peak = 0;
  // A lower bound: no plan has a smaller peak.
  int32_t bound = 0;
  int64_t steps = 0;
  bool timed_out = false;
};

// Searches for the plan with the smallest peak. `peak` is the peak of a known plan, `bound` a lower bound of all peaks.
SearchResult minimize_peak(const SearchProblem& problem, int32_t bound, int32_t peak, const SearchBudget& budget);

}  // namespace rushlight::python
