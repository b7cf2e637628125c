#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "python/bindings.h"
#include "python/offset_search.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

using Row = std::tuple<int32_t, int32_t, int32_t, int32_t>;
using Found = std::tuple<std::vector<int32_t>, int32_t, int64_t, bool>;

// Larger problems could overflow the stack of a thread.
constexpr size_t kMaxBuffers = 8192;
// Sums of two heights must fit into 32 bits.
constexpr int32_t kMaxUnits = 1 << 29;

Found search_offsets(const std::vector<Row>& rows, int32_t bound, int32_t peak, int64_t steps, double seconds) {
  if (rows.size() > kMaxBuffers) throw nb::value_error("search_offsets supports at most 8192 buffers");
  if (bound < 0 || peak < bound || peak > kMaxUnits) {
    throw nb::value_error("search_offsets needs 0 <= bound <= peak <= 2**29");
  }
  SearchProblem problem;
  int64_t total = 0;
  for (const auto& [size, first, end, alignment] : rows) {
    const bool lives = 0 <= first && first < end && end <= static_cast<int32_t>(2 * rows.size());
    if (size < 1 || size > peak || alignment < 1 || alignment > kMaxUnits || !lives) {
      throw nb::value_error("search_offsets: the size, the lifetime or the alignment of a buffer is invalid");
    }
    total += int64_t{size} + alignment - 1;
    problem.buffers.push_back({size, first, end, alignment});
    problem.sections = std::max(problem.sections, end);
  }
  if (total > INT32_MAX) throw nb::value_error("search_offsets: the sizes of all buffers exceed 2**31 units");
  SearchResult result;
  {
    nb::gil_scoped_release release;
    result = minimize_peak(problem, bound, peak, SearchBudget{steps, seconds});
  }
  return {result.offsets, result.bound, result.steps, result.timed_out};
}

}  // namespace

void bind_memory_search(nb::module_& module) {
  using namespace nb::literals;
  module.def("search_offsets", &search_offsets, "buffers"_a, "bound"_a, "peak"_a, "steps"_a, "seconds"_a,
             nb::sig("def search_offsets(buffers: Sequence[tuple[int, int, int, int]], bound: int, peak: int, "
                     "steps: int, seconds: float) -> tuple[list[int], int, int, bool]"),
             "Searches for the memory plan with the smallest peak. Sizes, alignments and peaks are in units.\n"
             "\n"
             "Args:\n"
             "    buffers: For each buffer its size, the first section of its lifetime, the section after the last\n"
             "        one, and its alignment.\n"
             "    bound: A lower bound of the peak of all plans.\n"
             "    peak: The peak of a known plan.\n"
             "    steps: The maximum number of search steps.\n"
             "    seconds: The maximum processor time.\n"
             "\n"
             "Returns:\n"
             "    The offsets of the buffers, which are empty if no plan is better than the known plan; the best\n"
             "    lower bound; the number of search steps; and whether the search ended because of `seconds`.");
}

}  // namespace rushlight::python
