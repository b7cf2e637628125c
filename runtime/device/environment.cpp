#include "device/environment.h"

#if defined(RUSHLIGHT_HAS_OWN_KERNELS)
#include "own_kernels.h"
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
#include "rushlight/kernels/optimized.h"
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_PORTABLE)
#include "rushlight/kernels/portable.h"
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_QUANTIZED)
#include "rushlight/kernels/quantized.h"
#endif
#if defined(RUSHLIGHT_HAS_BACKEND_CPU)
#include "rushlight/backends/cpu.h"
#endif

namespace rushlight::device {

Environment environment() {
  static const KernelTable kernels[] = {
#if defined(RUSHLIGHT_HAS_OWN_KERNELS)
      RUSHLIGHT_OWN_TABLES,
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
      optimized_kernels(),
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_QUANTIZED)
      quantized_kernels(),
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_PORTABLE)
      portable_kernels(),
#endif
      KernelTable(),
  };
  Environment result;
  result.kernels = kernels;
#if defined(RUSHLIGHT_HAS_BACKEND_CPU)
  static const Backend backends[] = {cpu_backend()};
  result.backends = backends;
#endif
  return result;
}

}  // namespace rushlight::device
