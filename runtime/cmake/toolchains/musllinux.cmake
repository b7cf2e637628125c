# Python extensions for Linux systems with musl (musllinux_1_2), built with zig. RUSHLIGHT_MACHINE is x86_64 or aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${RUSHLIGHT_MACHINE})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUSHLIGHT_MACHINE)
set(ZIG_TARGET ${RUSHLIGHT_MACHINE}-linux-musl)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)  # the headers of Python are those of this machine
