# Functions that define libraries and list their sources. Paths of folders are relative to the folder of the CMakeLists.txt
# that calls a function.

# rushlight_library(<name> SOURCES <files> [LINK <libraries>] [OPTIMIZE speed|vectors|plain|size]): defines a static library,
# which is exported as Rushlight::<name>.
function(rushlight_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OPTIMIZE" "SOURCES;LINK")
  if(NOT arg_OPTIMIZE)
    set(arg_OPTIMIZE plain)
  endif()
  if(NOT arg_SOURCES)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp CONTENT "")
    set(arg_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
  endif()
  add_library(rushlight_${name} STATIC ${arg_SOURCES})
  add_library(Rushlight::${name} ALIAS rushlight_${name})
  set_target_properties(rushlight_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ${rushlight_pic})
  target_include_directories(rushlight_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(rushlight_${name} PUBLIC cxx_std_17)
  target_compile_options(rushlight_${name} PRIVATE
    ${rushlight_library_options} "$<$<CONFIG:Release>:${rushlight_${arg_OPTIMIZE}}>")
  target_link_libraries(rushlight_${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:rushlight_flags>)
  # The linker removes unused functions from programs.
  target_compile_options(rushlight_${name} PRIVATE -ffunction-sections -fdata-sections)
  if(NOT APPLE)
    target_link_options(rushlight_${name} INTERFACE LINKER:--gc-sections)
  endif()
  if(RUSHLIGHT_SELECTION)
    target_compile_definitions(rushlight_${name} PRIVATE RUSHLIGHT_NO_KERNEL_KEYS
      RUSHLIGHT_DTYPES=${RUSHLIGHT_SELECTED_DTYPES}
      RUSHLIGHT_SELECTED_ISAS ${RUSHLIGHT_SELECTED_ISAS})
    target_include_directories(rushlight_${name} PRIVATE ${RUSHLIGHT_SELECTION})
  endif()
  # Only for the libraries that plan memory, so that a compiler cache can reuse the other ones.
  if(RUSHLIGHT_POISON AND name MATCHES "^(core|backend_.*)$")
    target_compile_definitions(rushlight_${name} PRIVATE RUSHLIGHT_POISON)
  endif()
  set_property(GLOBAL APPEND PROPERTY RUSHLIGHT_TARGETS rushlight_${name})
endfunction()

# rushlight_precompile(<name> <headers>): precompiles headers for the sources of a target that have no options of their own.
function(rushlight_precompile name)
  if(NOT RUSHLIGHT_PRECOMPILE_HEADERS)
    return()
  endif()
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# The suffix of a file names its systems: _posix, _windows or _wasi; _unix means POSIX and WASI; _os means systems with
# threads and shared libraries (POSIX and Windows); _serial means systems without threads; _hosted and _bare mean
# systems with and without an operating system.
if(RUSHLIGHT_FREESTANDING)
  set(system_suffixes bare serial)
elseif(CMAKE_SYSTEM_NAME STREQUAL "WASI")
  set(system_suffixes hosted wasi unix)
elseif(WIN32)
  set(system_suffixes hosted windows os)
else()
  set(system_suffixes hosted posix unix os)
endif()
set(system_foreign bare hosted posix windows wasi unix os serial)
list(REMOVE_ITEM system_foreign ${system_suffixes})
list(JOIN system_foreign "|" system_foreign)
set(system_foreign "_(${system_foreign})\\.cpp$")
if(RUSHLIGHT_SINGLE_THREAD)  # on any system
  string(REPLACE "|serial" "" system_foreign "${system_foreign}")
  string(APPEND system_foreign "|threads/[a-z_]*_(posix|windows|wasi|os)\\.cpp$")
endif()

# The selection sets RUSHLIGHT_SELECTED_SOURCES, _ISAS, _DTYPES (bits of DtypeSet), _BACKENDS, and _NO_KERNELS if its
# programs call no kernels.
if(RUSHLIGHT_SELECTION)
  include(${RUSHLIGHT_SELECTION}/selection.cmake)
endif()

# In selective builds, removes the files from a list that are not selected.
function(rushlight_keep_selected list)
  if(NOT RUSHLIGHT_SELECTION)
    return()
  endif()
  set(kept)
  foreach(file IN LISTS ${list})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    if(NOT path MATCHES "^(kernels|microkernels|backends)/" OR path IN_LIST RUSHLIGHT_SELECTED_SOURCES)
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# Sets `out` to the sources in the given folders for this system.
function(rushlight_sources out)
  set(patterns)
  foreach(folder IN LISTS ARGN)
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  endforeach()
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  list(FILTER found EXCLUDE REGEX "${system_foreign}")
  rushlight_keep_selected(found)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Sets the optimization level of the files that match FILTER.
function(rushlight_optimize level)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILTER" "")
  set(files ${arg_UNPARSED_ARGUMENTS})
  list(FILTER files INCLUDE REGEX "${arg_FILTER}")
  set_property(SOURCE ${files} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:${rushlight_${level}}>")
endfunction()
