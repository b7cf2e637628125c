#include "rushlight/module/defaults.h"

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
  std::vector<KernelTable> tables;
  for (const LoadedLibrary* library : loaded_libraries()) tables.push_back(library->kernels());
  for (const KernelTable& table : default_kernels()) tables.push_back(table);
  return tables;
}

std::vector<Backend> available_backends() {
  std::vector<Backend> backends;
  for (const LoadedLibrary* library : loaded_libraries()) {
    for (const Backend& row : library->backends) backends.push_back(row);
  }
  for (const Backend& row : default_backends()) backends.push_back(row);
  return backends;
}

}  // namespace rushlight
