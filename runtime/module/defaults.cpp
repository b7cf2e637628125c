#include "rushlight/module/defaults.h"

#if defined(RUSHLIGHT_HAS_KERNELS_OPTIMIZED)
#include "rushlight/kernels/optimized.h"
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_PORTABLE)
#include "rushlight/kernels/portable.h"
#endif
#if defined(RUSHLIGHT_HAS_KERNELS_QUANTIZED)
#include "rushlight/kernels/quantized.h"
#endif
#if defined(RUSHLIGHT_HAS_BACKEND_XNNPACK)
#include "rushlight/backends/xnnpack.h"
#endif

namespace rushlight {

Span<const KernelTable> default_kernels() {
  static const KernelTable tables[] = {
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
  return tables;
}

BackendTable default_backends() {
#if defined(RUSHLIGHT_HAS_BACKEND_XNNPACK)
  static const Backend backends[] = {xnnpack_backend()};
  return backends;
#else
  return {};
#endif
}

}  // namespace rushlight
