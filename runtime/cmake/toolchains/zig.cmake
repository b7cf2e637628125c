# Clang with the libraries of many systems, from `pip install ziglang`. ZIG_TARGET is the system, ZIG_FLAGS are the
# processor's features. Set RUSHLIGHT_ZIG to the path of zig if it is not found.
find_program(RUSHLIGHT_ZIG NAMES zig python-zig DOC "The program `zig`, or `python-zig` of the Python package ziglang")
if(NOT RUSHLIGHT_ZIG)
  message(FATAL_ERROR "no zig found: `pip install ziglang`, or set RUSHLIGHT_ZIG to the program")
endif()
# zig builds the C++ library once for every set of options when it links a program. So nothing is linked while CMake
# checks the compiler, also with --target.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET ${ZIG_TARGET})
  set(CMAKE_${language}_FLAGS_INIT "${ZIG_FLAGS}")
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${RUSHLIGHT_ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${RUSHLIGHT_ZIG}\" ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "\"${RUSHLIGHT_ZIG}\" ranlib <TARGET>")
endforeach()
set(CMAKE_C_COMPILER ${RUSHLIGHT_ZIG} cc)
set(CMAKE_CXX_COMPILER ${RUSHLIGHT_ZIG} c++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUSHLIGHT_ZIG)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR})  # find no libraries or headers of this machine
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
