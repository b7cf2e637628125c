# The library of microkernels (microkernels/README.md). A selection may contain no microkernels; then there is no library.
# Defines rushlight_cortex_m: the library of microkernels that portable and quantized kernels use, or empty.

set(rushlight_cortex_m)
if(NOT RUSHLIGHT_BUILD_OPTIMIZED)
  return()
endif()
rushlight_isa_sources(sources microkernels)
if(NOT sources)
  return()
endif()

# Optimization levels. Files without a level of their own, those in isa/, have the level `speed` of the library.
set(loops ${sources})
list(FILTER loops INCLUDE REGEX "/integer_[a-z0-9]*\\.cpp$")
rushlight_optimize(vectors FILTER "." ${loops})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Without this option, g++ adds a loop with shorter vectors to each loop. These loops would be a third of the code.
  set_property(SOURCE ${loops} APPEND PROPERTY COMPILE_OPTIONS --param=vect-epilogues-nomask=0)
endif()
# These files contain explicit vectors. -O3 would copy their other loops, a third of the code, and not make them faster.
rushlight_optimize(vectors FILTER "/isa/int8_(avx2|avx512)\\.cpp$" ${sources})
# x86-64 processors without AVX2 are rare: their code is optimized for size, and has no int8 Winograd convolutions.
if("avx2" IN_LIST isa_suffixes)
  list(FILTER sources EXCLUDE REGEX "/int8_winograd_generic\\.cpp$")
  rushlight_optimize(size FILTER "_generic\\.cpp$" ${sources})
  set(generic ${sources})
  list(FILTER generic INCLUDE REGEX "_generic\\.cpp$")
  set_property(SOURCE ${generic} APPEND PROPERTY COMPILE_DEFINITIONS RUSHLIGHT_SMALL)
endif()
# With pointer checks, Clang would need minutes for each file. AddressSanitizer also makes these checks.
if(RUSHLIGHT_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS
    -fno-sanitize=alignment,null,object-size,pointer-overflow)
  # Clang would warn that it does not vectorize some of the checked loops.
  set_property(SOURCE ${loops} APPEND PROPERTY COMPILE_OPTIONS -Wno-pass-failed)
endif()
rushlight_optimize(plain FILTER "microkernels/[a-z_]*\\.cpp$" ${sources})
if(CMAKE_SYSTEM_NAME STREQUAL "WASI")
  rushlight_optimize(size FILTER "microkernels/[a-hj-z][a-z]*/" ${sources})  # all folders except isa/
else()
  rushlight_optimize(vectors FILTER "microkernels/[a-hj-z][a-z]*/" ${sources})
endif()
# In small builds, loops use -O2, except for rare processors: -Os would make them three times slower.
set(loops ${sources})
list(FILTER loops INCLUDE REGEX "/isa/")
if("avx2" IN_LIST isa_suffixes)
  list(FILTER loops EXCLUDE REGEX "_generic\\.cpp$")
endif()
set_property(SOURCE ${loops} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:MinSizeRel>:-O2>")
rushlight_optimize(device_loops FILTER "/cortex_m/int8_[a-z]*\\.cpp$" ${sources})

if(RUSHLIGHT_BUILD_STAND_INS)
  list(APPEND sources tests/microkernels/wide.cpp tests/microkernels/int8_fours.cpp)
  set_source_files_properties(tests/microkernels/wide.cpp PROPERTIES COMPILE_OPTIONS "-O1;${isa_wide}")
endif()
rushlight_library(microkernels SOURCES ${sources} LINK rushlight_core OPTIMIZE speed)
target_compile_definitions(rushlight_microkernels PRIVATE $<$<CONFIG:MinSizeRel>:RUSHLIGHT_SMALL>)
if(RUSHLIGHT_BUILD_STAND_INS)
  target_compile_definitions(rushlight_microkernels PRIVATE RUSHLIGHT_STAND_INS)
endif()
if("rvv" IN_LIST isa_suffixes)
  target_compile_definitions(rushlight_microkernels PRIVATE RUSHLIGHT_RVV)
endif()
# A second library for hosts with relaxed SIMD, which has fused multiply-add.
if(CMAKE_SYSTEM_NAME STREQUAL "WASI" AND NOT CMAKE_CXX_FLAGS MATCHES "relaxed")
  rushlight_library(microkernels_relaxed SOURCES ${sources} LINK rushlight_core OPTIMIZE speed)
  target_compile_options(rushlight_microkernels_relaxed PRIVATE -mrelaxed-simd)
  set_target_properties(rushlight_microkernels_relaxed PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

if(RUSHLIGHT_CORTEX_M)
  target_compile_definitions(rushlight_microkernels PUBLIC RUSHLIGHT_CORTEX_M)
  set(rushlight_cortex_m rushlight_microkernels)
endif()
