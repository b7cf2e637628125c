# Compiler and linker flags of all targets in this folder. This file defines:
#   rushlight_flags            an interface library: C++17, warnings, float arithmetic, sanitizers
#   rushlight_library_options  options of the libraries and tests: no exceptions and no RTTI
#   rushlight_<level>          compiler flags of an optimization level in release builds; the levels are speed, vectors,
#                              plain, size and device_loops
#   rushlight_pic              whether the libraries contain position-independent code
#   rushlight_threads          the library of the system's threads; empty if the build has no threads
#   rushlight_small_link       linker options of programs in small builds (MinSizeRel)

set(rushlight_threads)
if(NOT RUSHLIGHT_SINGLE_THREAD AND NOT CMAKE_SYSTEM_NAME STREQUAL "WASI")  # on WASI, the host starts the threads
  find_package(Threads REQUIRED)
  set(rushlight_threads Threads::Threads)
endif()

# Small builds pack relative relocations if glibc supports them. This test must link a program, which this project's
# cross compilers do not do in CMake's tests.
set(rushlight_small_link)
include(CheckCXXSourceCompiles)
if(NOT CMAKE_CROSSCOMPILING)
  set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:-z,pack-relative-relocs)
  check_cxx_source_compiles("#include <cstdlib>
#if !__GLIBC_PREREQ(2, 36)
#error too old
#endif
int main() {}" RUSHLIGHT_PACKS_RELOCATIONS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
endif()
if(RUSHLIGHT_PACKS_RELOCATIONS)
  set(rushlight_small_link $<$<CONFIG:MinSizeRel>:LINKER:-z,pack-relative-relocs>)
endif()

# On devices, multiplications and additions are not fused, so that float32 results do not depend on the processor's
# instructions. int and long have the same size there, so the check of printf formats is off.
set(rushlight_contract -ffp-contract=fast)
if(RUSHLIGHT_FREESTANDING)
  set(rushlight_contract -ffp-contract=off -Wno-format)
endif()

add_library(rushlight_flags INTERFACE)
target_compile_features(rushlight_flags INTERFACE cxx_std_17)
target_include_directories(rushlight_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(rushlight_flags INTERFACE
  -Wall -Wextra $<$<BOOL:${RUSHLIGHT_WARNINGS_AS_ERRORS}>:-Werror>
  ${rushlight_contract} -fno-math-errno -fno-trapping-math)
# The libraries work in builds without exceptions and RTTI. Their functions are never unwound, so release builds omit
# the unwind tables (4 % of the binary). Debuggers use the tables of -g.
set(rushlight_library_options -fno-exceptions -fno-rtti $<$<CONFIG:Release,MinSizeRel>:-fno-asynchronous-unwind-tables>)
if(RUSHLIGHT_SANITIZE)
  target_compile_options(rushlight_flags INTERFACE
    -fsanitize=${RUSHLIGHT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rushlight_flags INTERFACE -fsanitize=${RUSHLIGHT_SANITIZE})
  # The result of converting an out-of-range float to an integer depends on the processor, as in eager PyTorch. GCC's
  # "undefined" does not check such conversions.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(rushlight_flags INTERFACE -fno-sanitize=float-cast-overflow)
  endif()
endif()

# Applications may link the libraries into shared libraries. WebAssembly is excluded: data access would be indirect.
set(rushlight_pic ON)
if(CMAKE_SYSTEM_NAME STREQUAL "WASI" OR RUSHLIGHT_FREESTANDING)
  set(rushlight_pic OFF)
endif()

# Optimization levels. GCC's -O3 makes several copies of each loop. These copies would be a third of the binary, so only
# microkernels use -O3. `vectors` makes one vectorized copy of each loop.
set(rushlight_speed -O3)
set(rushlight_vectors -O2)
set(rushlight_plain -O2)
set(rushlight_size -Os)
set(rushlight_device_loops -O2)  # for microkernels/cortex_m/int8_*.cpp
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND rushlight_vectors -ftree-vectorize -fvect-cost-model=dynamic)
  # Without these options, g++ fills more than a hundredth of the code with instructions that do nothing.
  set(unaligned -fno-align-functions -fno-align-jumps -fno-align-labels)
  list(APPEND rushlight_vectors ${unaligned})
  list(APPEND rushlight_plain ${unaligned})
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "WASI")  # browsers download the code
  set(rushlight_plain -Oz)
  set(rushlight_size -Oz)
endif()
if(RUSHLIGHT_FREESTANDING)
  foreach(level speed vectors plain)
    set(rushlight_${level} -Os)
  endforeach()
endif()
