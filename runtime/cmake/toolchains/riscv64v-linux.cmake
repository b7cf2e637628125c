# RISC-V with the vectors of RVA23, of 128 bits or more; programs are linked statically.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(ZIG_FLAGS "-target riscv64-linux-musl -mcpu=baseline_rv64+v")
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
