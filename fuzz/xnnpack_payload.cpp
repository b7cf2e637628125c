// Loads arbitrary bytes as a payload of XnnpackBackend.

#include "payload.h"
#include "rushlight/backends/xnnpack.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rushlight::fuzz::prepare_payload(rushlight::xnnpack_backend(rushlight::default_kernels()), data, size);
  return 0;
}

FUZZ_FORMAT(XnnpackPayload)
