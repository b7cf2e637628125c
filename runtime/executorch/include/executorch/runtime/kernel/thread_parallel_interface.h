#pragma once

#include <cstdint>

#include "executorch/runtime/core/function_ref.h"

namespace executorch {
namespace extension {

namespace internal {
constexpr int64_t GRAIN_SIZE = 32768;
}  // namespace internal

// Calls f(first, last) for disjoint ranges of at least `grain_size` elements that cover [begin, end), on several
// threads. Returns false if the bounds or the grain size are invalid.
bool parallel_for(int64_t begin, int64_t end, int64_t grain_size, runtime::FunctionRef<void(int64_t, int64_t)> f);
// Get and set the number of the range that this thread runs, from 0; return the number of threads.
int64_t get_thread_num();
void set_thread_num(int64_t thread_num);
int64_t get_thread_count();

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::extension::get_thread_num;
using ::executorch::extension::parallel_for;
using ::executorch::extension::set_thread_num;
}  // namespace executor
}  // namespace torch
