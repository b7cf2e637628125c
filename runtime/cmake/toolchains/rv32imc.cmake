# 32-bit RISC-V without floating point (QEMU's board virt). Debian's compiler has no C++ headers, so the headers of
# newlib for Arm are used; only their templates are needed.
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(RUSHLIGHT_TRIPLE riscv64-unknown-elf)
set(RUSHLIGHT_MACHINE "-march=rv32imc -mabi=ilp32 -mcmodel=medany -isystem /usr/include/newlib/c++/12.2.1 -isystem /usr/include/newlib/c++/12.2.1/arm-none-eabi -isystem /usr/include/newlib")
set(RUSHLIGHT_BOARD riscv32_virt)
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-system-riscv32 -M virt -nographic -semihosting-config enable=on,target=native -bios none -kernel)
set(RUSHLIGHT_LINK -L/usr/lib/picolibc/riscv64-unknown-elf/lib/rv32im/ilp32)
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
