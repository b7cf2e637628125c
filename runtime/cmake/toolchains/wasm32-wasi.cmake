# WebAssembly on WASI, with vectors of 128 bits. Atomic instructions serve modules with threads, and run without them too.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(ZIG_TARGET wasm32-wasi)
set(ZIG_FLAGS "-mcpu=generic+simd128+atomics+bulk_memory${ZIG_RELAXED} -pthread")
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
