# WebAssembly as in wasm32-wasi.cmake, plus relaxed SIMD, which has fused multiply-add instructions.
set(ZIG_RELAXED "+relaxed_simd")
include(${CMAKE_CURRENT_LIST_DIR}/wasm32-wasi.cmake)
