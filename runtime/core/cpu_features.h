// The instruction sets that code chooses between while it runs.
#pragma once

namespace rushlight {

// What the processor and the operating system support. Features of other processor families are false.
struct CpuFeatures {
  bool avx2 = false;          // AVX2, with FMA and F16C
  bool avx512 = false;        // AVX-512 F, VL, BW and DQ, with all of avx2
  bool avxvnni = false;       // AVX-VNNI (int8 dot products), with all of avx2
  bool avx512vnni = false;    // AVX-512 VNNI, with all of avx512
  bool avx512bf16 = false;    // AVX-512 BF16, with all of avx512
  bool avx512halves = false;  // vectors of 512 bits pass units of 256 bits in two halves, with all of avx512
  bool neon_dotprod = false;  // Arm's int8 dot products
  bool neon_i8mm = false;     // Arm's int8 matrix products, with neon_dotprod
};

// The features of this machine. They are detected once, since a virtual machine takes microseconds to answer.
const CpuFeatures& cpu_features();

}  // namespace rushlight
