#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "python/bindings.h"
#include "rushlight/threads/thread_pool.h"

#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"
#endif

namespace rushlight::python {

namespace nb = nanobind;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
// Runs body(thread, repeat) on all threads in many short rounds, because other programs may use the machine too. The
// time of a round is the time of its slowest thread. Returns the shortest time of all rounds.
template <typename Body>
double best_time(int threads, const Body& body) {
  double best = 1e30;
  for (int repeat = 0; repeat < 48; ++repeat) {
    const auto start = Clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&body, i, repeat] { body(i, repeat); });
    body(0, repeat);
    for (std::thread& other : others) other.join();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// Returns the operations per second; a multiplication with addition counts as two operations.
double arithmetic_peak(const microkernels::F32Microkernels& t, int threads) {
  constexpr int64_t kRounds = 300000;
  std::vector<float> sums(static_cast<size_t>(threads) * 1024, 0.5f);
  const double time = best_time(threads, [&](int i, int) { t.packed->saturate(kRounds, sums.data() + i * 1024); });
  return 2.0 * kRounds * t.gemm_rows * t.gemm_vectors * t.width * threads / time;
}

// Returns the bytes per second that matrix-vector products read. The matrix is larger than the caches, and each repeat
// reads another part of the matrix.
double reading_peak(const microkernels::F32Microkernels& t, int threads) {
  constexpr int64_t kParts = 8, kPartFloats = 8 << 20, kDepth = 512;
  const int64_t columns = 4 * t.gemm_vectors * t.width, block = columns * kDepth;
  const int64_t blocks = std::max<int64_t>(1, kPartFloats / threads / block), share = blocks * block;
  std::vector<float> memory(static_cast<size_t>(kParts * threads * share + 16), 1.0f), row(kDepth, 1.0f);
  std::vector<float> results(static_cast<size_t>(threads * blocks * columns));
  const float* const first =
      memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64 / sizeof(float);
  const double time = best_time(threads, [&](int i, int repeat) {
    t.packed->row(row.data(), kDepth, first + (repeat % kParts * threads + i) * share, nullptr,
                  results.data() + i * blocks * columns, blocks * columns, false, {});
  });
  return 4.0 * static_cast<double>(share) * threads / time;
}

#endif

// Returns the median duration of ThreadPool::run() in seconds, if each thread has one task that does nothing.
double hand_off(size_t threads) {
  if (threads == 1) return 0;
  HostThreadPool pool(threads);
  std::vector<double> times(2001);
  for (double& time : times) {
    const auto start = Clock::now();
    pool.run(threads, [](void*, size_t) {}, nullptr);
    time = seconds_since(start);
  }
  std::nth_element(times.begin(), times.begin() + 1000, times.end());
  return times[1000];
}

nb::tuple machine_peaks(int threads) {
  threads = std::clamp(threads, 1, 256);
  double arithmetic = 0, reading = 0, between = 0;
  {
    nb::gil_scoped_release release;
#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
    arithmetic = arithmetic_peak(microkernels::f32_microkernels(), threads);
    reading = reading_peak(microkernels::f32_microkernels(), threads);
#endif
    between = hand_off(static_cast<size_t>(threads));
  }
  return nb::make_tuple(arithmetic, reading, between);
}

}  // namespace

void bind_machine(nb::module_& module) {
  using namespace nb::literals;
  module.def("machine_peaks", &machine_peaks, "threads"_a,
             nb::sig("def machine_peaks(threads: int) -> tuple[float, float, float]"),
             "Measures the speed of this machine.\n"
             "\n"
             "Returns:\n"
             "    The float32 operations per second of the microkernels, the bytes per second that they read from\n"
             "    memory (both 0 in a build without microkernels), and the seconds that a pool of `threads` threads\n"
             "    needs to run one empty task on each thread.");
}

}  // namespace rushlight::python
