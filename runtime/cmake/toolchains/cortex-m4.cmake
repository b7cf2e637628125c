# Cortex-M4 (QEMU's board mps2-an386).
set(CMAKE_SYSTEM_PROCESSOR arm)
set(RUSHLIGHT_TRIPLE arm-none-eabi)
set(RUSHLIGHT_MACHINE "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16")
set(RUSHLIGHT_BOARD mps)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel)
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
