#pragma once

#include <cstddef>
#include <cstdint>

#include "rushlight/core/backend.h"
#include "rushlight/core/kernel.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/sorted_table.h"

namespace rushlight {

// What an application provides to the shared libraries that it loads.
struct LibraryHost {
  // Returns the error message buffer of this thread, with `message_size` bytes. The library writes its messages there,
  // so that they reach the application.
  char* (*message_buffer)() noexcept;
  size_t message_size;
};

// The version of the interface between applications and libraries. It must increase when the meaning of a structure
// changes but its size does not.
inline constexpr uint64_t kLibraryAbiVersion = 4;

// Returns a fingerprint of the structures that an application and its libraries share.
constexpr uint64_t library_abi() {
  const uint64_t sizes[] = {kLibraryAbiVersion,
                            sizeof(void*),
                            sizeof(Kernel),
                            sizeof(EValue),
                            sizeof(TensorImpl),
                            sizeof(KernelRuntimeContext),
                            sizeof(MemoryAllocator),
                            sizeof(EventTracer),
                            sizeof(EventTracerEntry),
                            sizeof(Backend),
                            sizeof(BackendOption),
                            sizeof(BackendInitContext),
                            sizeof(BackendExecutionContext),
                            sizeof(FreeableBuffer),
                            sizeof(Result<DelegateHandle*>),
                            static_cast<uint64_t>(ArgKind::OutTensorList),
                            static_cast<uint64_t>(Tag::ListOptionalTensor),
                            static_cast<uint64_t>(kScalarTypeCount),
                            static_cast<uint64_t>(kMaxDim)};
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint64_t size : sizes) hash = (hash ^ size) * 0x100000001b3u;
  return hash;
}

// The contents of a shared library. The library exports them as the symbol `rushlight_library`. The first four members
// are the same in all versions.
struct Library {
  char magic[8];  // kLibraryMagic
  uint64_t abi;   // library_abi() of the headers that it was built with
  uint64_t size;  // of this structure
  const char* name;
  const Kernel* kernels;  // in any order
  size_t num_kernels;
  const Backend* backends;
  size_t num_backends;
  void (*connect)(const LibraryHost* host) noexcept;
};

inline constexpr char kLibraryMagic[8] = {'R', 'U', 'S', 'H', 'L', 'I', 'B', '\0'};

// Receives the host structure of the application. Each library has its own copy of this function and of the core.
void connect_library(const LibraryHost* host) noexcept;
// Returns the host structure that this application passes to its libraries.
const LibraryHost& library_host() noexcept;

namespace detail {

constexpr Library describe_library(const char* name, Span<const Kernel> kernels, Span<const Backend> backends) {
  Library library{};
  for (size_t i = 0; i < sizeof(kLibraryMagic); ++i) library.magic[i] = kLibraryMagic[i];
  library.abi = library_abi();
  library.size = sizeof(Library);
  library.name = name;
  library.kernels = kernels.data();
  library.num_kernels = kernels.size();
  library.backends = backends.data();
  library.num_backends = backends.size();
  library.connect = &connect_library;
  return library;
}

}  // namespace detail

}  // namespace rushlight

// Defines the contents of a shared library. Use it once, at global scope of one of the library's source files.
// `kernels` and `backends` are arrays of rows, or {}. In a static library the macro does nothing: the application then
// passes the tables itself. In a source file that `rushlight select --own-sources` names, RUSHLIGHT_KERNEL_LIBRARY
// defines the kernel table that is linked into the build.
#if defined(RUSHLIGHT_SHARED_LIBRARY)
#define RUSHLIGHT_LIBRARY(name, kernels, backends)                                                       \
  extern "C" __attribute__((visibility("default"), used)) const ::rushlight::Library rushlight_library;  \
  extern "C" const ::rushlight::Library rushlight_library =                                              \
      ::rushlight::detail::describe_library(name, ::rushlight::Span<const ::rushlight::Kernel>(kernels), \
                                            ::rushlight::Span<const ::rushlight::Backend>(backends))
#else
#define RUSHLIGHT_LIBRARY(name, kernels, backends) static_assert(true)
#endif
#if defined(RUSHLIGHT_OWN_KERNELS)  // its value is the name of the function
#define RUSHLIGHT_KERNEL_LIBRARY(name, kernels)                        \
  namespace rushlight::own {                                           \
  ::rushlight::KernelTable RUSHLIGHT_OWN_KERNELS() {                   \
    static constexpr auto sorted = ::rushlight::sorted_table(kernels); \
    return {sorted.data(), sorted.size()};                             \
  }                                                                    \
  }                                                                    \
  static_assert(true)
#else
#define RUSHLIGHT_KERNEL_LIBRARY(name, kernels) RUSHLIGHT_LIBRARY(name, kernels, {})
#endif
#define RUSHLIGHT_BACKEND_LIBRARY(name, backends) RUSHLIGHT_LIBRARY(name, {}, backends)
