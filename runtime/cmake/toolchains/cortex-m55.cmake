# Cortex-M55 (QEMU's board mps3-an547).
set(CMAKE_SYSTEM_PROCESSOR arm)
set(RUSHLIGHT_TRIPLE arm-none-eabi)
set(RUSHLIGHT_MACHINE "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -mfpu=auto")
set(RUSHLIGHT_BOARD mps)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M mps3-an547 -nographic -semihosting -kernel)
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
