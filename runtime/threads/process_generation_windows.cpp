#include "threads/process_generation.h"

namespace rushlight {

uint64_t process_generation() { return 1; }

}  // namespace rushlight
