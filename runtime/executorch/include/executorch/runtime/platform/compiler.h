#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// Compiler attributes and properties under ExecuTorch's names.
#define ET_NORETURN [[noreturn]]
#define ET_NODISCARD [[nodiscard]]
#define ET_UNUSED [[maybe_unused]]
#define ET_DEPRECATED [[deprecated]]
#define ET_EXPERIMENTAL [[deprecated("This interface may change in the next version.")]]
#define ET_FALLTHROUGH [[fallthrough]]
#define ET_NOINLINE __attribute__((noinline))
#define ET_INLINE __attribute__((always_inline)) inline
#define ET_INLINE_ATTRIBUTE __attribute__((always_inline))
#define ET_RESTRICT __restrict__
#define ET_UNREACHABLE() __builtin_unreachable()
#define ET_LIKELY(expr) (expr)
#define ET_UNLIKELY(expr) (expr)
#define ET_WEAK __attribute__((weak))
#define ET_PRINTFLIKE(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))
#if defined(__FILE_NAME__)
#define ET_SHORT_FILENAME __FILE_NAME__
#else
#define ET_SHORT_FILENAME (__builtin_strrchr("/" __FILE__, '/') + 1)
#endif
#define ET_LINE __builtin_LINE()
#define ET_FUNCTION __builtin_FUNCTION()
#define ET_PRIsize_t "zu"
#define ET_PRIssize_t "zd"
#define ET_HAVE_GNU_STATEMENT_EXPRESSIONS 1
#if defined(__EXCEPTIONS)
#define ET_HAS_EXCEPTIONS 1
#else
#define ET_HAS_EXCEPTIONS 0
#endif

#define __ET_DEPRECATED ET_DEPRECATED
#define __ET_FALLTHROUGH ET_FALLTHROUGH
#define __ET_FUNCTION ET_FUNCTION
#define __ET_INLINE ET_INLINE
#define __ET_LIKELY ET_LIKELY
#define __ET_LINE ET_LINE
#define __ET_NODISCARD ET_NODISCARD
#define __ET_NOINLINE ET_NOINLINE
#define __ET_NORETURN ET_NORETURN
#define __ET_PRINTFLIKE ET_PRINTFLIKE
#define __ET_SHORT_FILENAME ET_SHORT_FILENAME
#define __ET_UNLIKELY ET_UNLIKELY
#define __ET_UNREACHABLE ET_UNREACHABLE
#define __ET_UNUSED ET_UNUSED
#define __ET_WEAK ET_WEAK

// The runtime does not support ATen's tensors.
#if defined(USE_ATEN_LIB)
#error "USE_ATEN_LIB needs ExecuTorch itself: Rushlight's C++ runtime has its own tensors"
#endif
#ifndef ET_RUNTIME_NAMESPACE
#define ET_RUNTIME_NAMESPACE runtime
#endif
