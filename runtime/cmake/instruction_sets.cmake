# Instruction sets. The suffix of a file names its instruction set: isa/f32_avx2.cpp. Only such files are compiled with the
# flags of the instruction set, so that a processor without it never executes its instructions. This file defines:
#   isa_suffixes            the suffixes of the instruction sets of this processor family
#   isa_foreign             matches the names of the files for other processor families
#   isa_<suffix>            the compiler flags of an instruction set
#   rushlight_isa_sources() lists the sources of a folder and sets their flags

set(x86 "avx[a-z0-9_]*")
set(arm "neon[a-z0-9_]*|sve[a-z0-9_]*")
set(riscv "rvv[0-9]*")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(isa_suffixes avx2 avxvnni avx512 avx512vnni avx512bf16)
  set(isa_foreign "_(${arm}|${riscv})\\.cpp$")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(isa_suffixes neon neon_fp16 neon_dotprod neon_i8mm)
  set(isa_foreign "_(${x86}|${riscv})\\.cpp$")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "riscv64" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # GCC 12 does not support RISC-V vectors.
  set(isa_suffixes generic rvv rvv256)
  set(isa_foreign "_(${x86}|${arm})\\.cpp$")
else()
  set(isa_suffixes)
  set(isa_foreign "_(${x86}|${arm}|${riscv})\\.cpp$")
endif()

set(isa_avx2 -mavx2 -mfma -mf16c -mbmi2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++'s default tuning spills addresses to vector and mask registers. Their moves wait for the multiply-adds.
  list(APPEND isa_avx2 -mtune=icelake-server)
endif()
set(isa_avxvnni ${isa_avx2})
set(isa_wide)  # 512-bit vectors on AVX2, for tests
if("avx2" IN_LIST isa_suffixes)
  set(isa_wide -mavx2 -mfma -Wno-psabi)
endif()
set(isa_avx512 ${isa_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
set(isa_avx512vnni ${isa_avx512} -mavx512vnni)
set(isa_avx512bf16 ${isa_avx512} -mavx512bf16)
set(isa_neon)
set(isa_neon_fp16 -march=armv8.2-a+fp16)
set(isa_neon_dotprod -march=armv8.2-a+dotprod)
set(isa_neon_i8mm -march=armv8.2-a+dotprod+i8mm)
set(isa_generic)
set(isa_rvv -march=rv64gcv)
set(isa_rvv256 -march=rv64gcv_zvl256b)

include(CheckCXXCompilerFlag)
if("neon_fp16" IN_LIST isa_suffixes)
  check_cxx_compiler_flag(-march=armv8.2-a+fp16 RUSHLIGHT_KNOWS_ARMV8_2)
  if(NOT RUSHLIGHT_KNOWS_ARMV8_2)  # for example, zig's Clang
    set(isa_neon_fp16 -mcpu=generic+v8_2a+fullfp16)
    set(isa_neon_dotprod -mcpu=generic+v8_2a+dotprod)
    set(isa_neon_i8mm -mcpu=generic+v8_2a+dotprod+i8mm)
  endif()
endif()
if("rvv" IN_LIST isa_suffixes)
  set(isa_generic -Wno-pass-failed)  # generic code has no vectors, so Clang cannot unroll loops over vectors
  check_cxx_compiler_flag(-march=rv64gcv RUSHLIGHT_KNOWS_RV64GCV)
  if(NOT RUSHLIGHT_KNOWS_RV64GCV)  # for example, zig's Clang
    set(isa_rvv -mcpu=baseline_rv64+v)
    set(isa_rvv256 -mcpu=baseline_rv64+v+zvl256b)
  endif()
endif()

# Sanitizer builds optimize little, but must fuse the same multiplications and additions in all functions.
set(isa_same_sums)
if(RUSHLIGHT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(isa_same_sums -fexpensive-optimizations)
endif()

# Sets `out` to the sources of a folder. Each file is compiled for the instruction set of its suffix.
function(rushlight_isa_sources out folder)
  rushlight_sources(found ${folder})
  list(FILTER found EXCLUDE REGEX "${isa_foreign}")
  foreach(suffix IN LISTS isa_suffixes)
    set(files ${found})
    list(FILTER files INCLUDE REGEX "_${suffix}\\.cpp$")
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${isa_${suffix}};${isa_same_sums}")
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
