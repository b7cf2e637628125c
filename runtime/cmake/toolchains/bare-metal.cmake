# A processor without an operating system: RUSHLIGHT_TRIPLE is the compiler's prefix, RUSHLIGHT_MACHINE the processor's
# flags, and RUSHLIGHT_BOARD a linker script in runtime/device/boards.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_COMPILER ${RUSHLIGHT_TRIPLE}-g++)
set(device ${CMAKE_CURRENT_LIST_DIR}/../../device)
set(CMAKE_CXX_FLAGS_INIT "${RUSHLIGHT_MACHINE} -fno-threadsafe-statics -fno-use-cxa-atexit -fno-asynchronous-unwind-tables")
set(CMAKE_CXX_FLAGS_RELEASE "-DNDEBUG" CACHE STRING "")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-nostdlib -L${device} -T${device}/boards/${RUSHLIGHT_BOARD}.ld -Wl,--gc-sections -Wl,-Map=map.txt")
set(CMAKE_CXX_STANDARD_LIBRARIES "${RUSHLIGHT_LINK} -Wl,--start-group -lm -lc -lgcc -Wl,--end-group")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
