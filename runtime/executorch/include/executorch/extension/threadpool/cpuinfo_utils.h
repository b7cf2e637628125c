#pragma once

#include <cstdint>

namespace executorch {
namespace extension {
namespace cpuinfo {

// Returns the number of threads that gives the shortest times: the physical cores that this process may use.
uint32_t get_num_performant_cores();

}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executorch {
namespace cpuinfo {
using ::executorch::extension::cpuinfo::get_num_performant_cores;
}  // namespace cpuinfo
}  // namespace executorch
}  // namespace torch
