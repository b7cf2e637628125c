# WebAssembly on WASI with 128-bit vectors. Atomic instructions are for modules with threads; all modules can have them.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(ZIG_TARGET wasm32-wasi)
set(ZIG_FLAGS "-mcpu=generic+simd128+atomics+bulk_memory${ZIG_RELAXED} -pthread")
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
