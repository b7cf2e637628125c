# For JavaScript (js/): the C API as WebAssembly modules without a main function. Modules with threads import a shared
# memory; modules for relaxed SIMD have other microkernels. js/rushlight.js chooses a module.

set(functions api_version version status_name last_error thread_pool_new program_load_buffer program_method_count
  program_method_name program_method_info program_input_info program_output_info method_load method_run method_output)
list(TRANSFORM functions PREPEND rushlight_)
list(APPEND functions malloc free)
list(TRANSFORM functions PREPEND "-Wl,--export=")
set(threads -Wl,--shared-memory,--import-memory,--initial-memory=16777216,--max-memory=2147483648
  -Wl,--export=rushlight_worker_run,--export=__stack_pointer,--export=__wasm_init_tls,--export=__tls_size,--export=__tls_align)
set(variants . -threads)
if(TARGET rushlight_microkernels_relaxed)
  set(variants . -threads -relaxed -relaxed-threads)
endif()
if(RUSHLIGHT_SINGLE_THREAD)
  list(FILTER variants EXCLUDE REGEX threads)
endif()
# Binaryen makes the modules smaller. Without it, they are as the linker writes them. It has to know which instructions
# a module may contain.
find_program(RUSHLIGHT_WASM_OPT wasm-opt DOC "wasm-opt of Binaryen, which makes WebAssembly modules smaller")
set(features simd relaxed-simd threads bulk-memory sign-ext mutable-globals nontrapping-float-to-int multivalue
  reference-types)
list(TRANSFORM features PREPEND --enable-)
add_custom_target(rushlight_wasm)
foreach(variant IN LISTS variants)
  string(REPLACE . "" variant ${variant})
  set(target rushlight_wasm${variant})
  if(NOT variant)
    set(target rushlight_wasm_plain)
  endif()
  add_executable(${target} EXCLUDE_FROM_ALL c/wasm.cpp)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME rushlight${variant} SUFFIX .wasm
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  if(variant MATCHES relaxed)  # must be first, because the linker uses the first definition
    target_link_libraries(${target} PRIVATE rushlight_microkernels_relaxed)
  endif()
  target_link_libraries(${target} PRIVATE rushlight_c rushlight_flags)
  target_link_options(${target} PRIVATE
    -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all -Wl,-z,stack-size=1048576 ${functions})
  if(variant MATCHES threads)
    target_link_options(${target} PRIVATE ${threads})
  endif()
  if(RUSHLIGHT_WASM_OPT)  # The lowest kilobyte of memory is unused, because it is the end of the stack.
    add_custom_command(TARGET ${target} POST_BUILD COMMAND ${RUSHLIGHT_WASM_OPT} ${features} -Oz --low-memory-unused
      $<TARGET_FILE:${target}> -o $<TARGET_FILE:${target}>)
  endif()
  add_dependencies(rushlight_wasm ${target})
endforeach()
