// The instruction sets that the runtime detects at run time to choose its code.
#pragma once

namespace rushlight {

// What the processor and the operating system support. Features of other processor families are false.
struct CpuFeatures {
  bool avx2 = false;                // AVX2, with FMA and F16C
  bool avx512 = false;              // AVX-512 F, VL, BW and DQ, with all of avx2
  bool avxvnni = false;             // AVX-VNNI (int8 dot products), with all of avx2
  bool avx512vnni = false;          // AVX-512 VNNI, with all of avx512
  bool avx512amx = false;           // AMX (matrix products of int8 and bfloat16), with all of avx512vnni
  bool avx512vbmi = false;          // AVX-512 VBMI (permutations of bytes), with all of avx512
  bool avx512bf16 = false;          // AVX-512 BF16, with all of avx512
  bool avx512bf16_is_fast = false;  // whether its products are faster than those of float32
  bool avx512halves = false;        // 512-bit instructions run as two 256-bit halves, with all of avx512
  bool neon_dotprod = false;        // Arm's int8 dot products
  bool neon_i8mm = false;           // Arm's int8 matrix products, with neon_dotprod
};

// Returns the features of this machine. They are detected once, because CPUID is slow in a virtual machine.
const CpuFeatures& cpu_features();

// Sets all bits of the vector registers beyond the first 128 to zero, if the processor has them. If a caller leaves
// numbers there, as some libraries with AVX code do, instructions of SSE take up to four times as long.
#if defined(__x86_64__) || defined(__i386__)
void clear_upper_registers();
#else
inline void clear_upper_registers() {}
#endif

}  // namespace rushlight
