# The kernel libraries. This file defines:
#   rushlight_own_libraries     the library with the kernels of the application (rushlight select --own-sources), or empty
#   rushlight_kernel_libraries  the libraries with a kernel table: portable, optimized, quantized

set(rushlight_own_libraries)
set(rushlight_kernel_libraries)

# The user's own kernels in a selective build. RUSHLIGHT_OWN_TABLES lists, as <name>=<file>, the sources that define the
# tables of own_kernels.h. RUSHLIGHT_OWN_SOURCES lists the other sources.
if(RUSHLIGHT_SELECTION AND RUSHLIGHT_OWN_TABLES)
  set(sources ${RUSHLIGHT_OWN_SOURCES})
  foreach(table IN LISTS RUSHLIGHT_OWN_TABLES)
    string(REGEX MATCH "^([a-z0-9_]+)=(.*)$" matched "${table}")
    set_property(SOURCE ${CMAKE_MATCH_2} APPEND PROPERTY COMPILE_DEFINITIONS RUSHLIGHT_OWN_KERNELS=${CMAKE_MATCH_1})
    list(APPEND sources ${CMAKE_MATCH_2})
  endforeach()
  rushlight_library(kernels_own SOURCES ${sources} LINK rushlight_core)
  target_compile_definitions(rushlight_kernels_own PUBLIC RUSHLIGHT_HAS_OWN_KERNELS)
  target_include_directories(rushlight_kernels_own INTERFACE ${RUSHLIGHT_SELECTION})
  set(rushlight_own_libraries rushlight_kernels_own)
endif()

if(NOT RUSHLIGHT_BUILD_KERNELS)
  return()
endif()
rushlight_isa_sources(sources kernels/shared)
rushlight_optimize(size FILTER "/(scatter|jacobi|unique|linear_algebra|triangle)\\.cpp$" ${sources})
rushlight_optimize(size FILTER "/(convolution|fft_lines)\\.cpp$" ${sources})  # only of portable kernels
rushlight_library(kernels_shared SOURCES ${sources} LINK rushlight_core ${rushlight_cortex_m} OPTIMIZE vectors)
set(common <algorithm> <array> <cmath> <cstring> <limits> <optional> <type_traits> <utility>
  ${PROJECT_SOURCE_DIR}/include/rushlight/core/evalue.h ${PROJECT_SOURCE_DIR}/include/rushlight/core/kernel_context.h
  ${PROJECT_SOURCE_DIR}/kernels/shared/dtype_switch.h ${PROJECT_SOURCE_DIR}/kernels/shared/shape.h)
rushlight_precompile(rushlight_kernels_shared ${common})
foreach(kind portable optimized quantized)
  set(libraries rushlight_kernels_shared)
  set(level plain)
  if(kind STREQUAL "optimized")
    if(NOT TARGET rushlight_microkernels)
      continue()
    endif()
    list(APPEND libraries rushlight_microkernels)
    set(level vectors)
  endif()
  rushlight_isa_sources(sources kernels/${kind})
  # These kernels are large, and few networks spend much time in them.
  rushlight_optimize(size FILTER "/(special_|linalg_|(di|l|poly)?gamma|igamma|_[cp]dist|[a-z_]*cum|_?unique|mode|median|kthvalue|scatter|index_add|col2im|im2col|_native_batch|[a-z0-9_]*_backward)[a-z0-9_]*\\.cpp$" ${sources})
  if(kind STREQUAL "portable")
    # These kernels have optimized variants for the frequent dtypes, or are seldom used.
    rushlight_optimize(size FILTER "/(add|all|any|argsort|bincount|custom_sdpa|embedding_bag|fast_hadamard_transform|gated_delta_rule|native_(group|layer)_norm|nonzero|pow|searchsorted|sub|tile_crop|topk|update_cache)\\.cpp$" ${sources})
    # The choices in these loops depend on the data. Vectors need no jumps.
    rushlight_optimize(vectors FILTER "/(addcdiv|addcmul|angle|clamp_max|clamp_min|copysign|hardshrink|leaky_relu|lerp|maximum|minimum|nan_to_num|softshrink|threshold)\\.cpp$" ${sources})
  endif()
  # The table has a function for each kernel, which unpacks the arguments.
  rushlight_optimize(size FILTER "/${kind}/table\\.cpp$" ${sources})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # sorting the table takes more steps than Clang's limit
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/kernels/${kind}/table.cpp APPEND PROPERTY COMPILE_OPTIONS
      -fconstexpr-steps=100000000)
  endif()
  if(RUSHLIGHT_SELECTION)
    if(NOT EXISTS ${RUSHLIGHT_SELECTION}/${kind}_table.cpp)
      continue()
    endif()
    list(APPEND sources ${RUSHLIGHT_SELECTION}/${kind}_table.cpp)
  endif()
  rushlight_library(kernels_${kind} SOURCES ${sources} LINK ${libraries} OPTIMIZE ${level})
  rushlight_precompile(rushlight_kernels_${kind} ${common} ${PROJECT_SOURCE_DIR}/kernels/shared/elementwise.h)
  list(APPEND rushlight_kernel_libraries rushlight_kernels_${kind})
  string(TOUPPER ${kind} upper)
  target_compile_definitions(rushlight_kernels_${kind} PUBLIC RUSHLIGHT_HAS_KERNELS_${upper})
endforeach()
