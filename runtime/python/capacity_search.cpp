// A plan is canonical if no buffer can move to a lower offset. If there is a plan, there is also a canonical plan. The
// state of the search is a skyline: the filled height of each section. In each step, the search chooses a valley of the
// skyline and one section of this valley. A valley is a run of sections of one height, its ground; the sections next to
// the run are higher. The search then decides which buffer comes next in the chosen section. In the first case, this
// buffer is within the valley and is placed on the ground. In the second case, the next buffer rests on a buffer that
// is not placed yet, or on a higher section beside the valley (a wall). The chosen section then stays empty up to the
// lowest height at which such a buffer can begin. In this way, no two branches of the search contain the same plan.
//
// Several ideas come from Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
// Learning" (2023): canonical plans, inference over sections, compressed time, and separate solutions for independent
// parts of the time axis.
#include "python/capacity_search.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <numeric>
#include <tuple>

namespace rushlight::python {

namespace {

constexpr int32_t kNone = std::numeric_limits<int32_t>::max();

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

int32_t aligned(int32_t height, int32_t alignment) {
  return alignment == 1 ? height : (height + alignment - 1) / alignment * alignment;
}

double thread_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) {
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
#endif
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

CapacitySearch::CapacitySearch(const SearchProblem& problem, const SearchBudget& budget)
    : original_(problem.buffers.size()), sections_(problem.sections), budget_(budget), start_(thread_seconds()) {
  const auto& given = problem.buffers;
  std::iota(original_.begin(), original_.end(), 0);
  const auto key = [&](int32_t i) {
    return std::make_tuple(given[i].first, given[i].end, given[i].size, given[i].alignment, i);
  };
  std::sort(original_.begin(), original_.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  for (const int32_t i : original_) {
    const SearchBuffer& buffer = given[i];
    bool same = !buffers_.empty();
    if (same) {
      const SearchBuffer& last = buffers_.back();
      same = last.first == buffer.first && last.end == buffer.end && last.size == buffer.size &&
             last.alignment == buffer.alignment;
    }
    same_as_last_.push_back(same);
    codes_.push_back(mixed(codes_.size()));
    buffers_.push_back(buffer);
  }
  const size_t count = buffers_.size();
  begin_.resize(sections_ + 1);
  size_t next = 0;
  for (int32_t s = 0; s <= sections_; ++s) {
    while (next < count && buffers_[next].first < s) ++next;
    begin_[s] = static_cast<int32_t>(next);
  }
  failures_.assign(sections_, 1.0);
  section_scratch_.resize(sections_);
  choices_.resize(sections_ + 1);
  valley_of_.resize(sections_);
  offset_.resize(count);
  lowest_.resize(count);
  rank_.resize(count);
}

void CapacitySearch::set_order(Order order, double noise) {
  std::vector<std::pair<double, int32_t>> values;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const double lifetime = buffers_[i].end - buffers_[i].first, size = buffers_[i].size;
    double value = 0;
    switch (order) {
      case Order::kLifetime:
        value = lifetime;
        break;
      case Order::kSize:
        value = size;
        break;
      case Order::kArea:
        value = lifetime * size;
        break;
      case Order::kLongArea:
        value = lifetime * lifetime * size;
        break;
    }
    random_ = mixed(random_);
    value *= 1 + noise * (static_cast<double>(random_ >> 12) * 0x1p-51 - 1);
    values.emplace_back(-value, static_cast<int32_t>(i));
  }
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) rank_[values[i].second] = static_cast<int32_t>(i);
}

Outcome CapacitySearch::run(int32_t capacity, int64_t nodes, Rule rule) {
  capacity_ = capacity;
  nodes_left_ = nodes;
  rule_ = rule;
  stopped_ = false;
  height_.assign(sections_, 0);
  remaining_.assign(sections_, 0);
  count_.assign(sections_, 0);
  crossing_.assign(sections_, 0);
  placed_.assign(buffers_.size(), 0);
  changes_.clear();
  path_.clear();
  candidates_.clear();
  hashes_.clear();
  parts_.clear();
  for (const SearchBuffer& buffer : buffers_) {
    for (int32_t s = buffer.first; s < buffer.end; ++s) {
      remaining_[s] += buffer.size;
      ++count_[s];
      crossing_[s] += s > buffer.first;
    }
  }
  for (int32_t s = 0; s < sections_; ++s) {
    if (remaining_[s] > capacity) return Outcome::kNoPlan;
  }
  if (solve_parts(0, sections_)) return Outcome::kFound;
  return stopped_ ? Outcome::kLimit : Outcome::kNoPlan;
}

std::vector<int32_t> CapacitySearch::offsets() const {
  std::vector<int32_t> result(buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) result[original_[i]] = offset_[i];
  return result;
}

int32_t CapacitySearch::peak() const {
  int32_t peak = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) peak = std::max(peak, offset_[i] + buffers_[i].size);
  return peak;
}

// Solves the independent parts of the sections [first, end), which no buffer connects; the tightest part comes first.
bool CapacitySearch::solve_parts(int32_t first, int32_t end) {
  const size_t base = parts_.size(), path = path_.size();
  for (int32_t s = first; s < end;) {
    if (count_[s] == 0) {
      ++s;
      continue;
    }
    Part part{kNone, s, s};
    do {
      part.slack = std::min(part.slack, capacity_ - height_[s] - remaining_[s]);
      ++s;
    } while (s < end && count_[s] != 0 && crossing_[s] != 0);
    part.end = s;
    parts_.push_back(part);
  }
  std::sort(parts_.begin() + base, parts_.end(),
            [](const Part& a, const Part& b) { return std::tie(a.slack, a.first) < std::tie(b.slack, b.first); });
  bool solved = true;
  for (size_t i = base; solved && i < parts_.size(); ++i) {
    const Part part = parts_[i];
    solved = solve(part.first, part.end);
  }
  if (!solved) {
    for (size_t i = path; i < path_.size(); ++i) remove(path_[i]);
    path_.resize(path);
  }
  parts_.resize(base);
  return solved;
}

// Places all buffers of the connected sections [first, end). If this fails, the heights and the path are restored.
bool CapacitySearch::solve(int32_t first, int32_t end) {
  const size_t changes = changes_.size(), hashes = hashes_.size();
  bool found = false;
  for (;;) {
    if (!infer(first, end)) break;
    const uint64_t state = hash(first, end);
    if (failed_.contains(state)) break;
    hashes_.push_back(state);
    const Choice choice = choose(first, end);
    const int32_t height = height_[choice.section];
    const size_t candidates = candidates_.size();
    const int32_t next = collect_candidates(choice, first, end);
    found = try_candidates(candidates, height, first, end);
    candidates_.resize(candidates);
    if (found || stopped_) break;
    // If no buffer is placed on the ground of the section, the next buffer begins at `next` or above.
    if (next == kNone || next > capacity_ - remaining_[choice.section]) {
      failures_[choice.section] += 1;
      break;
    }
    raise(choice.section, next);
  }
  if (!found) undo(changes);
  if (!found && !stopped_) {
    for (size_t i = hashes; i < hashes_.size(); ++i) failed_.insert(hashes_[i]);
  }
  hashes_.resize(hashes);
  return found;
}

bool CapacitySearch::try_candidates(size_t from, int32_t height, int32_t first, int32_t end) {
  const size_t until = candidates_.size();
  for (size_t i = from; i < until; ++i) {
    if (!spend()) return false;
    const int32_t buffer = candidates_[i];
    const size_t changes = changes_.size();
    place(buffer, height);
    path_.push_back(buffer);
    if (solve_parts(first, end)) return true;
    undo(changes);
    remove(buffer);
    path_.pop_back();
    if (stopped_) return false;
  }
  return false;
}

// Raises each section to the lowest offset of the buffers that cover it, until nothing changes. Returns false if the
// buffers no longer fit.
bool CapacitySearch::infer(int32_t first, int32_t end) {
  int32_t* const lowest = section_scratch_.data();
  const int32_t* const heights = height_.data();
  for (bool changed = true; changed;) {
    changed = false;
    std::fill(lowest + first, lowest + end, kNone);
    for (int32_t i = begin_[first]; i < begin_[end]; ++i) {
      if (placed_[i]) continue;
      const SearchBuffer buffer = buffers_[i];
      int32_t offset = 0;
      for (int32_t s = buffer.first; s < buffer.end; ++s) offset = std::max(offset, heights[s]);
      offset = aligned(offset, buffer.alignment);
      for (int32_t s = buffer.first; s < buffer.end; ++s) lowest[s] = std::min(lowest[s], offset);
      lowest_[i] = offset;
      steps_ += buffer.end - buffer.first + 4;
    }
    for (int32_t s = first; s < end; ++s) {
      if (count_[s] == 0 || lowest[s] <= height_[s]) continue;
      if (lowest[s] > capacity_ - remaining_[s]) {
        failures_[s] += 1;
        return false;
      }
      raise(s, lowest[s]);
      changed = true;
    }
  }
  // This check needs as much time as the rest of a node. One check per four nodes still finds most failures.
  return nodes_left_ % 4 != 0 || fits_above(first, end);
}

// Returns whether, in every section and for every height, the buffers that cannot begin below that height fit above it.
bool CapacitySearch::fits_above(int32_t first, int32_t end) {
  by_lowest_.clear();
  for (int32_t i = begin_[first]; i < begin_[end]; ++i) {
    if (!placed_[i]) by_lowest_.emplace_back(-lowest_[i], i);
  }
  std::sort(by_lowest_.begin(), by_lowest_.end());
  int32_t* const above = section_scratch_.data();
  std::fill(above + first, above + end, 0);
  for (const auto& [minus_lowest, i] : by_lowest_) {
    const int32_t remaining = capacity_ + minus_lowest;
    const SearchBuffer buffer = buffers_[i];
    int32_t most = 0;
    for (int32_t s = buffer.first; s < buffer.end; ++s) {
      above[s] += buffer.size;
      most = std::max(most, above[s]);
    }
    if (most <= remaining) continue;
    for (int32_t s = buffer.first; s < buffer.end; ++s) failures_[s] += above[s] > remaining;
    return false;
  }
  return true;
}

// Chooses the next section of a valley. After infer(), and without regard to alignments, there is a buffer for every
// section of a valley that can be placed on the ground.
CapacitySearch::Choice CapacitySearch::choose(int32_t first, int32_t end) {
  valleys_.clear();
  for (int32_t s = first; s < end;) {
    int32_t after = s + 1;
    while (after < end && height_[after] == height_[s]) ++after;
    const bool valley = (s == first || height_[s - 1] > height_[s]) && (after == end || height_[after] > height_[s]);
    std::fill(valley_of_.begin() + s, valley_of_.begin() + after, valley ? static_cast<int32_t>(valleys_.size()) : -1);
    if (valley) valleys_.emplace_back(s, after);
    s = after;
  }
  smallest_.assign(valleys_.size(), kNone);
  std::fill(choices_.begin() + first, choices_.begin() + end + 1, 0);
  for (int32_t i = begin_[first]; i < begin_[end]; ++i) {
    const SearchBuffer& buffer = buffers_[i];
    const int32_t valley = placed_[i] ? -1 : valley_of_[buffer.first];
    if (valley < 0 || valley != valley_of_[buffer.end - 1] || lowest_[i] != height_[buffer.first]) continue;
    ++choices_[buffer.first];
    --choices_[buffer.end];
    smallest_[valley] = std::min(smallest_[valley], buffer.size);
  }
  steps_ += end - first;
  Choice best{-1, 0, 0};
  double best_score = 0;
  int32_t choices = 0;
  for (int32_t s = first; s < end; ++s) {
    choices += choices_[s];
    if (valley_of_[s] < 0) continue;
    const double found = score(s, choices, smallest_[valley_of_[s]]);
    if (best.section >= 0 && found >= best_score) continue;
    best_score = found;
    best = Choice{s, valleys_[valley_of_[s]].first, valleys_[valley_of_[s]].second};
  }
  return best;
}

// Returns the score of a section; the section with the smallest score is chosen next. `choices` is the number of
// buffers that can be placed on its ground. `smallest` is the size of the smallest buffer that can be placed on the
// ground of its valley.
double CapacitySearch::score(int32_t section, int32_t choices, int32_t smallest) const {
  const int32_t slack = capacity_ - height_[section] - remaining_[section];
  const double branches = choices + (slack >= smallest ? 1 : 0);
  switch (rule_) {
    case Rule::kFewestChoices:
      return branches * 0x1p32 + slack;
    case Rule::kMaxFailures:
      return branches / failures_[section];
    case Rule::kLowest:
      return height_[section] * 0x1p20 + branches;
    case Rule::kMinSlack:
      return slack * 0x1p20 + branches;
  }
  return 0;
}

// Appends the buffers that can be placed on the ground of the chosen section. Returns the lowest offset above this
// ground at which any other buffer of the section may begin, or kNone.
int32_t CapacitySearch::collect_candidates(const Choice& choice, int32_t first, int32_t end) {
  const size_t base = candidates_.size();
  const int32_t ground = height_[choice.section];
  int32_t on_wall = kNone, on_buffer = kNone;
  for (int32_t i = begin_[first]; i < begin_[std::min(choice.end, end)]; ++i) {
    if (placed_[i]) continue;
    const SearchBuffer& buffer = buffers_[i];
    if (buffer.first > choice.section || buffer.end <= choice.section) {
      if (buffer.end > choice.first) on_buffer = std::min(on_buffer, lowest_[i] + buffer.size);
    } else if (lowest_[i] > ground) {
      on_wall = std::min(on_wall, lowest_[i]);
    } else if (!is_repeated(i)) {
      candidates_.push_back(i);
    }
  }
  std::sort(candidates_.begin() + base, candidates_.end(), [&](int32_t a, int32_t b) { return rank_[a] < rank_[b]; });
  return std::min(on_wall, on_buffer);
}

// Returns whether an equal, earlier buffer is also unplaced: exchanging the two would give the same plan.
bool CapacitySearch::is_repeated(int32_t buffer) const {
  while (same_as_last_[buffer]) {
    if (!placed_[--buffer]) return true;
  }
  return false;
}

// Returns a hash of the remaining problem in [first, end): the capacity, the unplaced buffers, and the skyline.
uint64_t CapacitySearch::hash(int32_t first, int32_t end) const {
  uint64_t buffers = static_cast<uint64_t>(capacity_), skyline = 0;
  for (int32_t i = begin_[first]; i < begin_[end]; ++i) {
    if (!placed_[i]) buffers += codes_[i];
  }
  for (int32_t s = first; s < end; ++s) {
    skyline = (skyline ^ static_cast<uint64_t>(height_[s])) * 0x9e3779b97f4a7c15u;
    skyline ^= skyline >> 29;
  }
  return mixed(mixed(buffers) + skyline) | 1;
}

void CapacitySearch::place(int32_t buffer, int32_t height) {
  const SearchBuffer& placed = buffers_[buffer];
  placed_[buffer] = 1;
  offset_[buffer] = height;
  for (int32_t s = placed.first; s < placed.end; ++s) {
    raise(s, height + placed.size);
    remaining_[s] -= placed.size;
    --count_[s];
    crossing_[s] -= s > placed.first;
  }
}

void CapacitySearch::remove(int32_t buffer) {
  const SearchBuffer& removed = buffers_[buffer];
  placed_[buffer] = 0;
  for (int32_t s = removed.first; s < removed.end; ++s) {
    remaining_[s] += removed.size;
    ++count_[s];
    crossing_[s] += s > removed.first;
  }
}

void CapacitySearch::raise(int32_t section, int32_t height) {
  changes_.push_back({section, height_[section]});
  height_[section] = height;
}

void CapacitySearch::undo(size_t changes) {
  while (changes_.size() > changes) {
    height_[changes_.back().section] = changes_.back().height;
    changes_.pop_back();
  }
}

// Counts one node. Returns false if a limit is reached. Reads the clock only at some nodes.
bool CapacitySearch::spend() {
  constexpr int64_t kBetweenLooks = 1 << 20;
  if (steps_ >= next_look_) {
    next_look_ = steps_ + kBetweenLooks;
    timed_out_ = thread_seconds() - start_ >= budget_.seconds;
  }
  stopped_ = --nodes_left_ < 0 || exhausted();
  return !stopped_;
}

}  // namespace rushlight::python
