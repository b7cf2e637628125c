# 64-bit Windows on x86-64 with the libraries of MinGW-w64; Wine runs the programs.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(ZIG_TARGET x86_64-windows-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
set(CMAKE_RC_COMPILER ${RUSHLIGHT_ZIG})  # CMake needs a resource compiler, but there are no resources
