#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "python/bindings.h"

#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
#include "kernels/optimized/tiles/packed.h"
#include "kernels/optimized/tiles/tiles.h"
#endif

namespace rushlight::python {

namespace nb = nanobind;

namespace {

#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Runs body(thread) on all threads, several times; the shortest time of the slowest thread.
template <typename Body>
double best_time(int threads, const Body& body) {
  double best = 1e30;
  for (int repeat = 0; repeat < 12; ++repeat) {
    const auto start = Clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&body, i] { body(i); });
    body(0);
    for (std::thread& other : others) other.join();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// Multiplications and additions a second, and bytes read from memory a second.
nb::tuple machine_peaks(int threads) {
  constexpr int64_t kRounds = 2000000, kFloats = 16 << 20;
  threads = std::clamp(threads, 1, 256);
  const tiles::Tiles& t = tiles::tiles();
  std::vector<float> sums(static_cast<size_t>(threads) * 1024, 0.5f);
  std::vector<float> memory(static_cast<size_t>(kFloats), 1.0f);
  std::vector<float> results(static_cast<size_t>(threads) * 64);
  double arithmetic = 0, bytes = 0;
  {
    nb::gil_scoped_release release;
    const double time = best_time(threads, [&](int i) { t.packed->saturate(kRounds, sums.data() + i * 1024); });
    const double operations = 2.0 * kRounds * t.gemm_rows * t.gemm_vectors * t.width;
    arithmetic = operations * threads / time;
    const int64_t share = kFloats / threads;
    const double read = best_time(threads, [&](int i) {
      results[static_cast<size_t>(i) * 64] = t.extreme(true, memory.data() + i * share, share);
    });
    bytes = 4.0 * static_cast<double>(share) * threads / read;
  }
  return nb::make_tuple(arithmetic, bytes);
}
#else
nb::tuple machine_peaks(int) { return nb::make_tuple(0.0, 0.0); }
#endif

}  // namespace

void bind_machine(nb::module_& module) {
  using namespace nb::literals;
  module.def("machine_peaks", &machine_peaks, "threads"_a,
             nb::sig("def machine_peaks(threads: int) -> tuple[float, float]"),
             "Measures the float32 operations a second that the tiles can reach and the bytes a second that they can\n"
             "read from memory, on so many threads. Zeros if this build has no tiles.");
}

}  // namespace rushlight::python
