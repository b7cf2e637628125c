#pragma once

namespace rushlight::tiles {

// From the first call on, carries out vpdpbusd between registers where the processor does not know it: slowly, in a
// handler of SIGILL. Any other unknown instruction ends the program.
void carry_out_vpdpbusd();

}  // namespace rushlight::tiles
