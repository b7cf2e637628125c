# WebAssembly on WASI, with vectors of 128 bits and without threads.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(ZIG_TARGET wasm32-wasi)
set(ZIG_FLAGS "-msimd128 ${ZIG_RELAXED}")
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
