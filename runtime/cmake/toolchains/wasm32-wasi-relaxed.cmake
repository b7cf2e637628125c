# WebAssembly as wasm32-wasi.cmake has it and relaxed SIMD, where a product and a sum are one instruction.
set(ZIG_RELAXED "+relaxed_simd")
include(${CMAKE_CURRENT_LIST_DIR}/wasm32-wasi.cmake)
