// Code that runs before main() on a device. It initializes the memories that the linker scripts in boards/ describe.
#include <cstdint>
#include <cstring>

#include "device/console.h"

extern "C" {

extern uint32_t rushlight_data_begin[], rushlight_data_end[], rushlight_bss_begin[], rushlight_bss_end[];
extern const uint32_t rushlight_data_source[];
extern uint32_t rushlight_stack_top[];
extern void (*const __init_array_start[])();
extern void (*const __init_array_end[])();

int main();
[[noreturn]] void rushlight_start();

[[noreturn]] static void run() {
  std::memcpy(rushlight_data_begin, rushlight_data_source,
              static_cast<size_t>(rushlight_data_end - rushlight_data_begin) * sizeof(uint32_t));
  std::memset(rushlight_bss_begin, 0, static_cast<size_t>(rushlight_bss_end - rushlight_bss_begin) * sizeof(uint32_t));
  for (auto initializer = __init_array_start; initializer != __init_array_end; ++initializer) (*initializer)();
  rushlight_exit(main());
}

#if defined(__arm__)

void rushlight_start() {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  constexpr uintptr_t kCoprocessorAccess = 0xe000ed88;
  *reinterpret_cast<volatile uint32_t*>(kCoprocessorAccess) |= 0xfu << 20;
  asm volatile("dsb\nisb" ::: "memory");
#endif
  run();
}

static void fault() {
  rushlight_write("the processor has found a fault\n");
  rushlight_exit(1);
}

using Handler = void (*)();
constexpr int kExceptions = 16;
// The initial stack pointer, the entry point, then the exceptions: non-maskable interrupt, faults, and unused ones.
__attribute__((section(".vectors"), used)) const void* const rushlight_vectors[kExceptions] = {
    rushlight_stack_top,
    reinterpret_cast<const void*>(&rushlight_start),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
};

#else

[[noreturn]] __attribute__((used)) void rushlight_run() { run(); }

// The stack pointer is not set yet.
__attribute__((section(".vectors"), naked, used)) void rushlight_start() {
  asm volatile(
      ".option push\n.option arch, +zicsr\n.option norelax\nla gp, __global_pointer$\nla sp, rushlight_stack_top\n"
      "la t0, rushlight_trap\ncsrw mtvec, t0\n.option pop\nj rushlight_run");
}

__attribute__((aligned(4), used)) void rushlight_trap() {
  rushlight_write("the processor has found a fault\n");
  rushlight_exit(1);
}

#endif

}  // extern "C"
