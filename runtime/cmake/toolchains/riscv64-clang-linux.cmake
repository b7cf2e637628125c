# RISC-V as in riscv64-linux.cmake, with a compiler that also supports vectors; programs are linked statically.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(ZIG_TARGET riscv64-linux-musl)
set(ZIG_FLAGS "-mcpu=baseline_rv64")
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
