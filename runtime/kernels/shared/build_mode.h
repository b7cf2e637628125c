#pragma once

namespace rushlight {

// Whether the build is optimized for size (-Os). Such builds leave out the faster, longer paths of kernels; results are
// the same.
#if defined(__OPTIMIZE_SIZE__)
inline constexpr bool kIsForSize = true;
#else
inline constexpr bool kIsForSize = false;
#endif

}  // namespace rushlight
