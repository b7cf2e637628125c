# rushlight_add_library(<name> [STATIC] SOURCES <files> [LINK <libraries>])
#
# Makes a library of kernels or backends, linked with Rushlight::core. One source lists its contents with
# RUSHLIGHT_LIBRARY, RUSHLIGHT_KERNEL_LIBRARY or RUSHLIGHT_BACKEND_LIBRARY (rushlight/core/library.h). By default it is
# a shared library lib<name>.so, which rushlight.runtime.load_library, executor_runner and rushlight::load_library load
# by path. It exports only one symbol. With STATIC it is a static library for programs that pass its tables themselves.
function(rushlight_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "" "SOURCES;LINK")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "rushlight_add_library(${name} [STATIC] SOURCES <files> [LINK <libraries>])")
  endif()
  if(arg_STATIC)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC Rushlight::core ${arg_LINK})
    return()
  endif()
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE Rushlight::core ${arg_LINK})
  target_compile_definitions(${name} PRIVATE RUSHLIGHT_SHARED_LIBRARY)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(NOT APPLE)
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
  endif()
endfunction()
