#include "tests/microkernels/dot_products.h"

#if defined(__x86_64__) && defined(__linux__)

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "microkernels/tables/impl/int8_joined.h"

namespace rushlight::microkernels {

namespace avx2_int8 {
extern const Int8Microkernels table;
}
namespace avxvnni_int8 {
extern const Int8Microkernels table;
}
namespace avx512_int8 {
extern const Int8Microkernels table;
}
namespace avx512vnni_int8 {
extern const Int8Microkernels table;
}
namespace avx512bf16_pairs {
extern const Bf16PairMicrokernels table;
}

namespace {

// Offsets of registers in a standard XSAVE area.
constexpr int kXmm = 160, kState = 512, kYmmHigh = 576, kZmmHigh = 1152, kZmm16 = 1664;

struct Dot {
  int to, left, right;  // registers
  int parts;            // number of 16-byte parts
  int whole;            // parts that are written; the others become zero
  int size;             // bytes of the instruction
  bool is_float;        // vdpbf16ps
  const uint8_t* data;  // the right operand if it is in memory
};

// Returns the address of an operand in memory, or null for an operand relative to the instruction. `p` are the bytes
// from ModRM on, `base` and `index` the bits that extend register numbers, and `unit` the factor of an 8-bit
// displacement. `length` receives the number of bytes.
const uint8_t* address(const uint8_t* p, int base, int index, int unit, const greg_t* registers, int* length) {
  constexpr int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  const int mode = p[0] >> 6;
  int number = p[0] & 7, at = 1;
  greg_t sum = 0;
  if (number == 4) {  // an SIB byte follows
    const int indexed = (p[1] >> 3 & 7) | index;
    if (indexed != 4) sum += registers[kRegisters[indexed]] << (p[1] >> 6);
    number = p[1] & 7;
    at = 2;
  }
  if (mode == 0 && number == 5) return nullptr;
  sum += registers[kRegisters[number | base]];
  if (mode == 1) {
    sum += static_cast<int8_t>(p[at]) * unit;
    at += 1;
  } else if (mode == 2) {
    int32_t displacement;
    std::memcpy(&displacement, p + at, sizeof(displacement));
    sum += displacement;
    at += 4;
  }
  *length = at;
  return reinterpret_cast<const uint8_t*>(sum);
}

// Decodes vpdpbusd (VEX between registers, or EVEX without a mask) or vdpbf16ps (EVEX between registers). The
// instruction bits that extend register numbers are inverted.
bool decode(const uint8_t* p, const greg_t* registers, Dot* dot) {
  const auto bit = [](int byte, int at, int value) { return (byte >> at & 1) ? 0 : value; };
  if (p[0] == 0xc4 && (p[1] & 0x1f) == 2 && (p[2] & 0x83) == 1 && p[3] == 0x50 && p[4] >= 0xc0) {
    *dot = {bit(p[1], 7, 8) | (p[4] >> 3 & 7),
            15 - (p[2] >> 3 & 15),
            bit(p[1], 5, 8) | (p[4] & 7),
            (p[2] & 4) ? 2 : 1,
            2,
            5,
            false,
            nullptr};
    return true;
  }
  const bool is_float = (p[2] & 0x87) == 6 && p[4] == 0x52, is_integer = (p[2] & 0x87) == 5 && p[4] == 0x50;
  const bool in_memory = p[5] < 0xc0;
  if (p[0] == 0x62 && (p[1] & 0xf) == 2 && (is_float ? !in_memory : is_integer) && (p[3] & 0x97) == 0) {
    const int parts = 1 << (p[3] >> 5 & 3);
    int length = 1;
    const uint8_t* data = nullptr;
    if (in_memory) {
      data = address(p + 5, bit(p[1], 5, 8), bit(p[1], 6, 8), 16 * parts, registers, &length);
      if (data == nullptr) return false;
    }
    *dot = {bit(p[1], 7, 8) | bit(p[1], 4, 16) | (p[5] >> 3 & 7),
            (15 - (p[2] >> 3 & 15)) | bit(p[3], 3, 16),
            bit(p[1], 5, 8) | bit(p[1], 6, 16) | (p[5] & 7),
            parts,
            4,
            5 + length,
            is_float,
            data};
    return true;
  }
  return false;
}

uint8_t* part_of(uint8_t* area, int index, int part) {
  if (index >= 16) return area + kZmm16 + 64 * (index - 16) + 16 * part;
  if (part == 0) return area + kXmm + 16 * index;
  if (part == 1) return area + kYmmHigh + 16 * index;
  return area + kZmmHigh + 32 * index + 16 * (part - 2);
}

// The processor does not store unused state. Unused state is zero.
void complete(uint8_t* area, bool all) {
  uint64_t state;
  std::memcpy(&state, area + kState, sizeof(state));
  if (!(state & 4)) std::memset(area + kYmmHigh, 0, 256);
  if (all && !(state & 0x40)) std::memset(area + kZmmHigh, 0, 512);
  if (all && !(state & 0x80)) std::memset(area + kZmm16, 0, 1024);
  state |= all ? 0xc4 : 4;
  std::memcpy(area + kState, &state, sizeof(state));
}

void add_bytes(const uint8_t* left, const uint8_t* right, uint8_t* to) {
  int32_t sums[4];
  std::memcpy(sums, to, 16);
  for (int i = 0; i < 16; ++i) sums[i / 4] += left[i] * static_cast<int8_t>(right[i]);
  std::memcpy(to, sums, 16);
}

void add_halves(const uint8_t* left, const uint8_t* right, uint8_t* to) {
  const auto half = [](const uint8_t* p, int i) {
    const uint8_t bytes[4] = {0, 0, p[2 * i], p[2 * i + 1]};
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  };
  float sums[4];
  std::memcpy(sums, to, 16);
  for (int i = 0; i < 4; ++i) {
    for (int j = 2 * i + 1; j >= 2 * i; --j) sums[i] += half(left, j) * half(right, j);
  }
  std::memcpy(to, sums, 16);
}

void handle(int, siginfo_t*, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  Dot dot;
  if (!decode(reinterpret_cast<const uint8_t*>(machine.gregs[REG_RIP]), machine.gregs, &dot)) _exit(132);
  auto* const area = reinterpret_cast<uint8_t*>(machine.fpregs);
  complete(area, dot.whole == 4);
  for (int part = 0; part < dot.whole; ++part) {
    uint8_t* const to = part_of(area, dot.to, part);
    if (part >= dot.parts) {
      std::memset(to, 0, 16);
    } else {
      const uint8_t* const right = dot.data ? dot.data + 16 * part : part_of(area, dot.right, part);
      (dot.is_float ? add_halves : add_bytes)(part_of(area, dot.left, part), right, to);
    }
  }
  machine.gregs[REG_RIP] += dot.size;
}

void assist() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, nullptr);
}

}  // namespace

std::vector<const Int8Microkernels*> assisted_sets() {
  static const Int8Microkernels avxvnni = joined(avxvnni_int8::table, avx2_int8::table);
  static const Int8Microkernels avx512vnni = joined(avx512vnni_int8::table, avx512_int8::table);
  std::vector<const Int8Microkernels*> sets;
  if (int8_microkernels_named("avx2") && !int8_microkernels_named("avxvnni")) sets.push_back(&avxvnni);
  if (int8_microkernels_named("avx512") && !int8_microkernels_named("avx512vnni")) sets.push_back(&avx512vnni);
  if (!sets.empty()) assist();
  return sets;
}

const Bf16PairMicrokernels* assisted_pairs() {
  const F32Microkernels* const floats = f32_microkernels_named("avx512");
  if (floats == nullptr || bf16_pair_microkernels(*floats)) return nullptr;
  assist();
  return &avx512bf16_pairs::table;
}

}  // namespace rushlight::microkernels

#else

namespace rushlight::microkernels {

std::vector<const Int8Microkernels*> assisted_sets() { return {}; }
const Bf16PairMicrokernels* assisted_pairs() { return nullptr; }

}  // namespace rushlight::microkernels

#endif
