// Joins the int8 tables of two instruction sets. An instruction set with dot products of four numbers makes only
// products faster. For all other loops, a compiler would generate the same code a second time.
#pragma once

#include "microkernels/tables/int8.h"

namespace rushlight::microkernels {

// Returns the table `products`, which is made with RL_PRODUCTS, together with all other loops of the table `rest`.
inline Int8Microkernels joined(const Int8Microkernels& products, const Int8Microkernels& rest) {
  Int8Microkernels t = products;
  t.channel_sums = rest.channel_sums;
  t.quantize = rest.quantize;
  t.dequantize_int8 = rest.dequantize_int8;
  t.dequantize_int4 = rest.dequantize_int4;
  t.dequantize_panel = rest.dequantize_panel;
  t.extremes = rest.extremes;
  t.combine = rest.combine;
  t.int4_row = rest.int4_row;
  t.scaled_rows = rest.scaled_rows;
  t.add_scaled_dots = rest.add_scaled_dots;
  t.requantize = rest.requantize;
  t.dequantize = rest.dequantize;
  t.loops = rest.loops;
  if (products.loops.depthwise_3x3) {
    t.loops.depthwise_3x3 = products.loops.depthwise_3x3;
    t.loops.pack_depthwise_3x3 = products.loops.pack_depthwise_3x3;
  }
  t.loops.depthwise_quads = products.loops.depthwise_quads;
  t.loops.pack_depthwise_quads = products.loops.pack_depthwise_quads;
  return t;
}

}  // namespace rushlight::microkernels
