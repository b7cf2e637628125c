# Python extensions for old Linux systems: GCC compiles, and zig links with the C library of glibc 2.28
# (manylinux_2_28). GCC's C++ library is linked statically. RUSHLIGHT_MACHINE is x86_64 or aarch64; for other machines
# than the host's, Debian's cross compiler is used.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${RUSHLIGHT_MACHINE})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUSHLIGHT_MACHINE RUSHLIGHT_ZIG)
set(prefix ${RUSHLIGHT_MACHINE}-linux-gnu-)
if(CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL RUSHLIGHT_MACHINE)
  set(prefix)
endif()
set(CMAKE_C_COMPILER ${prefix}gcc)
set(CMAKE_CXX_COMPILER ${prefix}g++)
set(libraries)
foreach(name stdc++ gcc gcc_eh)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.a OUTPUT_VARIABLE library
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND libraries " ${library}")
endforeach()
set(CMAKE_CXX_CREATE_SHARED_MODULE
  "\"${RUSHLIGHT_ZIG}\" cc -target ${RUSHLIGHT_MACHINE}-linux-gnu.2.28 -shared <LINK_FLAGS> -o <TARGET> <OBJECTS> \
${CMAKE_CURRENT_LIST_DIR}/manylinux.c <LINK_LIBRARIES> ${libraries}")
