// The common loop of all kernels that quantize or dequantize. It visits the elements of a tensor whose parts (the whole
// tensor, a channel, a group or a token) have a scale and a zero point each.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/shared/loop_nest.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/tensor.h"

namespace rushlight::quantized {

inline constexpr DtypeSet kQuantized{ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int,
                                     ScalarType::UInt16};
inline constexpr DtypeSet kRealInputs{ScalarType::Float, ScalarType::Half, ScalarType::BFloat16};

// The scale (or its reciprocal, for quantization) and the zero point of each part.
struct QuantizationParameters {
  const double* scale;
  const double* zero;
};

// The types and the order of the operations, which are the same as in eager PyTorch.
struct AffineArithmetic {
  ScalarType common;                  // every result is rounded to this dtype: Float, Double, Half or BFloat16
  bool zero_before_rounding = false;  // quantize: adds the zero point before rounding
  bool subtracts_integers = false;    // dequantize: computes q - zero point in integers, else in `common`
  bool subtracts_float32 = false;     // dequantize: computes q - zero point in float32 for any `common`
  double quant_min = 0, quant_max = 0;
};

// Run the loops. Operands 0, 1 and 2 of the loops are out, in and the arrays of `parameters`.
void quantize_elements(KernelRuntimeContext& context, LoopNest nest, const Tensor& in, const Tensor& out,
                       const QuantizationParameters& parameters, const AffineArithmetic& arithmetic);
void dequantize_elements(KernelRuntimeContext& context, LoopNest nest, const Tensor& in, const Tensor& out,
                         const QuantizationParameters& parameters, const AffineArithmetic& arithmetic);

// Quantizes and dequantizes float32 values; `inverse` contains the reciprocals of the scales.
void fake_quantize_elements(KernelRuntimeContext& context, LoopNest nest, const Tensor& in, const Tensor& out,
                            const QuantizationParameters& parameters, const double* inverse,
                            const AffineArithmetic& arithmetic);

// Quantizes as eager PyTorch's per-token and per-group functions do: the zero point is added before rounding.
void quantize_parts(KernelRuntimeContext& context, const LoopNest& nest, const Tensor& in, const Tensor& out,
                    const Tensor& scales, const Tensor& zero_points, int64_t quant_min, int64_t quant_max);
// Dequantizes in the dtype of the scales; `zero_points` may be null.
void dequantize_parts(KernelRuntimeContext& context, const LoopNest& nest, const Tensor& in, const Tensor& out,
                      const Tensor& scales, const Tensor* zero_points);

// Makes loops in which the whole tensor is one part.
LoopNest nest_of_whole(const Tensor& out, const Tensor& in);
// Makes loops with a part for each index of `axis`.
LoopNest nest_of_axis(const Tensor& out, const Tensor& in, int64_t axis);
// Makes loops with a part for each run of `group` elements along the last axis, in row-major order.
LoopNest nest_of_groups(const Tensor& out, const Tensor& in, int64_t group);

// Returns the elements of a tensor in row-major order, converted to double, in scratch memory. With `invert`, returns
// the reciprocals, computed in the dtype of the tensor. If there is no memory, records the failure and returns null.
const double* elements_as_double(KernelRuntimeContext& context, const Tensor& tensor, bool invert = false);
// Returns the elements of a tensor in row-major order, converted to float32: the tensor's memory if possible, else
// scratch memory. If there is no memory, records the failure and returns null.
const float* elements_as_float(KernelRuntimeContext& context, const Tensor& tensor);
// Returns the only element of a tensor. Records the failure if there is not exactly one.
bool single_element(KernelRuntimeContext& context, const char* name, const Tensor& tensor, double* value);

// Record the failure if a range exceeds the range of the dtype, or if a tensor has another dtype.
bool require_range(KernelRuntimeContext& context, int64_t quant_min, int64_t quant_max, ScalarType dtype);
bool require_dtype(KernelRuntimeContext& context, const char* name, const Tensor& tensor, ScalarType dtype);

}  // namespace rushlight::quantized
