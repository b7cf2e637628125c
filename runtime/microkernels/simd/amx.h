// The matrix unit AMX, in namespace rushlight::microkernels::RL_ISA. It has eight tile registers of up to 16 rows of 64
// bytes.
#pragma once

#include <immintrin.h>

#include <cstdint>

// Functions with this attribute are called only if the processor has AMX, and not inlined into others.
#define RL_AMX __attribute__((target("amx-tile,amx-int8,amx-bf16")))
#define RL_AMX_INLINE static inline __attribute__((always_inline, target("amx-tile,amx-int8,amx-bf16")))

namespace rushlight::microkernels::RL_ISA {

inline constexpr int kAmxRows = 32;
// The number of 32-bit groups in a row of a tile register.
inline constexpr int64_t kAmxGroups = 16;

// The memory operand of LDTILECFG (Intel 64 Architectures Software Developer's Manual, volume 2): the rows of each tile
// register and the bytes of each row.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

// The tile registers: sums of the upper and lower rows for the left and right vector, the LHS and the RHS. They are
// macros, because GCC inserts the text of the argument of an intrinsic in assembly.
#define RL_UPPER_LEFT 0
#define RL_UPPER_RIGHT 1
#define RL_LOWER_LEFT 2
#define RL_LOWER_RIGHT 3
#define RL_UPPER_LHS 4
#define RL_LOWER_LHS 5
#define RL_LEFT_RHS 6
#define RL_RIGHT_RHS 7

// Sets the shapes of all tile registers and clears them. `groups`: the groups that an instruction multiplies.
RL_AMX_INLINE void set_shapes(int upper, int lower, int64_t groups) {
  constexpr int64_t kRowBytes = 64, kGroupBytes = 4;
  TileShapes shapes;
  const auto set = [&](int tile, int64_t rows, int64_t bytes) {
    shapes.rows[tile] = static_cast<uint8_t>(rows);
    shapes.row_bytes[tile] = static_cast<uint16_t>(rows == 0 ? 0 : bytes);
  };
  for (const int tile : {RL_UPPER_LEFT, RL_UPPER_RIGHT}) set(tile, upper, kRowBytes);
  for (const int tile : {RL_LOWER_LEFT, RL_LOWER_RIGHT}) set(tile, lower, kRowBytes);
  set(RL_UPPER_LHS, upper, groups * kGroupBytes);
  set(RL_LOWER_LHS, lower, groups * kGroupBytes);
  for (const int tile : {RL_LEFT_RHS, RL_RIGHT_RHS}) set(tile, groups, kRowBytes);
  _tile_loadconfig(&shapes);
}

}  // namespace rushlight::microkernels::RL_ISA
