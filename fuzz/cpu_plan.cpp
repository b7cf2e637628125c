// Loads arbitrary bytes as a payload of CpuBackend.

#include "payload.h"
#include "rushlight/backends/cpu.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rushlight::fuzz::prepare_payload(rushlight::cpu_backend(), data, size);
  return 0;
}

FUZZ_FORMAT(CpuPlan)
