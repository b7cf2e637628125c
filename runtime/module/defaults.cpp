#include "rushlight/module/defaults.h"

#include <algorithm>
#include <iterator>

#include "rushlight/module/library.h"

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
#if defined(RUSHLIGHT_HAS_BACKEND_OPENVINO)
#include "rushlight/backends/openvino.h"
#endif
#if defined(RUSHLIGHT_HAS_BACKEND_XNNPACK)
#include "rushlight/backends/xnnpack.h"
#endif

namespace rushlight {

Span<const KernelTable> default_kernels() {
  static const KernelTable tables[] = {
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
  return tables;
}

BackendTable default_backends() {
  static const Backend backends[] = {
#if defined(RUSHLIGHT_HAS_BACKEND_CPU)
      cpu_backend(),
#endif
#if defined(RUSHLIGHT_HAS_BACKEND_XNNPACK)
      xnnpack_backend(default_kernels()),
#endif
#if defined(RUSHLIGHT_HAS_BACKEND_OPENVINO)
      openvino_backend(),
#endif
      Backend{nullptr, nullptr},
  };
  return {backends, std::size(backends) - 1};
}

std::vector<KernelTable> available_kernels() {
  const std::vector<const LoadedLibrary*> libraries = loaded_libraries();
  const Span<const KernelTable> own = default_kernels();
  std::vector<KernelTable> tables(libraries.size() + own.size());
  auto next = tables.begin();
  for (const LoadedLibrary* library : libraries) *next++ = library->kernels();
  std::copy(own.begin(), own.end(), next);
  return tables;
}

std::vector<Backend> available_backends() {
  const std::vector<const LoadedLibrary*> libraries = loaded_libraries();
  const BackendTable own = default_backends();
  size_t count = own.size();
  for (const LoadedLibrary* library : libraries) count += library->backends.size();
  std::vector<Backend> backends(count);
  auto next = backends.begin();
  for (const LoadedLibrary* library : libraries) {
    next = std::copy(library->backends.begin(), library->backends.end(), next);
  }
  std::copy(own.begin(), own.end(), next);
  return backends;
}

}  // namespace rushlight
