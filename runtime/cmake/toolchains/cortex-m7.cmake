# Cortex-M7 (QEMU's board mps2-an500).
set(CMAKE_SYSTEM_PROCESSOR arm)
set(RUSHLIGHT_TRIPLE arm-none-eabi)
set(RUSHLIGHT_MACHINE "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16")
set(RUSHLIGHT_BOARD mps)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M mps2-an500 -nographic -semihosting -kernel)
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
