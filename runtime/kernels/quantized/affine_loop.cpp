#include "kernels/quantized/affine_loop.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/shared/axes.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/shape.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight::quantized {

namespace {

constexpr int64_t kChunk = 256;
constexpr int64_t kGrain = 16384;

// Rounds to the nearest integer, ties to even, without calling the math library.
[[maybe_unused]] inline float round_even(float x) {
  const float magnitude = std::fabs(x);
  const float rounded = (magnitude + 8388608.0f) - 8388608.0f;
  return std::copysign(magnitude < 8388608.0f ? rounded : magnitude, x);
}
[[maybe_unused]] inline double round_even(double x) {
  constexpr double kIntegerBound = 4503599627370496.0;
  const double magnitude = std::fabs(x);
  const double rounded = (magnitude + kIntegerBound) - kIntegerBound;
  return std::copysign(magnitude < kIntegerBound ? rounded : magnitude, x);
}

// Converts like vector instructions: a value out of range becomes the smallest int32.
template <typename C>
inline int32_t to_int32(C x) {
  const bool fits = x >= static_cast<C>(-2147483648.0) && x < static_cast<C>(2147483648.0);
  return fits ? static_cast<int32_t>(x) : std::numeric_limits<int32_t>::min();
}

// Returns the function for elements of type T, or null if this build has no tensors with such elements.
template <typename T, typename Function>
constexpr Function if_built(Function function) {
  return is_built(scalar_type_of<T>) ? function : nullptr;
}

template <typename C, typename Q>
void store_integers(const C* values, int64_t n, void* to, int64_t stride) {
  Q* const out = static_cast<Q*>(to);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Q>(to_int32(values[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * stride] = static_cast<Q>(to_int32(values[i]));
  }
}

template <typename C>
using StoreIntegers = void (*)(const C*, int64_t, void*, int64_t);

template <typename C>
StoreIntegers<C> store_integers_of(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return if_built<uint8_t>(&store_integers<C, uint8_t>);
    case ScalarType::Char:
      return if_built<int8_t>(&store_integers<C, int8_t>);
    case ScalarType::Short:
      return if_built<int16_t>(&store_integers<C, int16_t>);
    case ScalarType::Int:
      return if_built<int32_t>(&store_integers<C, int32_t>);
    case ScalarType::UInt16:
      return if_built<uint16_t>(&store_integers<C, uint16_t>);
    default:
      return nullptr;
  }
}

template <typename C, typename Q>
void load_integers(const void* from, int64_t stride, int64_t n, C* values) {
  const Q* const in = static_cast<const Q*>(from);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<C>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<C>(in[i * stride]);
  }
}

template <typename C>
using LoadIntegers = void (*)(const void*, int64_t, int64_t, C*);

template <typename C>
LoadIntegers<C> load_integers_of(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return if_built<uint8_t>(&load_integers<C, uint8_t>);
    case ScalarType::Char:
      return if_built<int8_t>(&load_integers<C, int8_t>);
    case ScalarType::Short:
      return if_built<int16_t>(&load_integers<C, int16_t>);
    case ScalarType::Int:
      return if_built<int32_t>(&load_integers<C, int32_t>);
    case ScalarType::UInt16:
      return if_built<uint16_t>(&load_integers<C, uint16_t>);
    default:
      return nullptr;
  }
}

// Computes values[i] = op(values[i], numbers[i * step]) in C.
template <typename C, typename Op>
inline void apply_parameters(C* values, int64_t n, const double* numbers, int64_t step, const Op& op) {
  if (step == 0) {
    const C number = static_cast<C>(numbers[0]);
    for (int64_t i = 0; i < n; ++i) values[i] = op(values[i], number);
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] = op(values[i], static_cast<C>(numbers[i * step]));
  }
}

// Rounds to a 16-bit type if eager PyTorch computes in this type.
template <typename C>
inline void round_to(ScalarType common, C* values, int64_t n) {
  if (common == ScalarType::Half || common == ScalarType::BFloat16) narrow_to(common, values, n);
}

template <typename C>
void quantize_chunk(C* values, int64_t n, const double* inverse, const double* zero, int64_t step,
                    const AffineArithmetic& arithmetic) {
  apply_parameters(values, n, inverse, step, [](C x, C y) { return x * y; });
  round_to(arithmetic.common, values, n);
  if (arithmetic.zero_before_rounding) {
    apply_parameters(values, n, zero, step, [](C x, C y) { return x + y; });
    round_to(arithmetic.common, values, n);
    for (int64_t i = 0; i < n; ++i) values[i] = round_even(values[i]);
  } else {
    apply_parameters(values, n, zero, step, [](C x, C y) { return round_even(x) + y; });
  }
  const C quant_min = static_cast<C>(arithmetic.quant_min), quant_max = static_cast<C>(arithmetic.quant_max);
  for (int64_t i = 0; i < n; ++i) {
    const C x = values[i] < quant_min ? quant_min : values[i];
    values[i] = x > quant_max ? quant_max : x;
  }
  round_to(arithmetic.common, values, n);
}

// Calls body(closure, values, at, n) for chunks of each row; at[k] is the offset of the chunk in operand k.
template <typename C>
void for_chunks(KernelRuntimeContext& context, LoopNest& nest, void (*body)(const void*, C*, const int64_t*, int64_t),
                const void* closure) {
  nest.sort_by(0);
  nest.collapse();
  context.parallel_for(0, nest.numel(), kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) C values[kChunk];
    for_each_row(nest, begin, end, [&](const int64_t* offsets, int64_t n) {
      for (int64_t done = 0; done < n; done += kChunk) {
        int64_t at[3];
        for (int k = 0; k < 3; ++k) at[k] = offsets[k] + done * nest.inner_stride(k);
        body(closure, values, at, n - done < kChunk ? n - done : kChunk);
      }
    });
  });
}

// Passes the body as a pointer, so that all bodies share one copy of the loops. This reduces the code size.
template <typename C, typename Body>
void for_chunks(KernelRuntimeContext& context, LoopNest& nest, const Body& body) {
  for_chunks<C>(
      context, nest,
      [](const void* closure, C* values, const int64_t* at, int64_t n) {
        (*static_cast<const Body*>(closure))(values, at, n);
      },
      &body);
}

template <typename C>
void quantize_in(KernelRuntimeContext& context, LoopNest& nest, const Tensor& in, const Tensor& out,
                 const QuantizationParameters& parameters, const AffineArithmetic& arithmetic) {
  const Convert load = load_function(in.scalar_type(), scalar_type_of<C>);
  const StoreIntegers<C> store = store_integers_of<C>(out.scalar_type());
  for_chunks<C>(context, nest, [&](C* values, const int64_t* at, int64_t n) {
    load(rushlight::at(in, at[1]), nest.inner_stride(1), values, 1, n);
    quantize_chunk(values, n, parameters.scale + at[2], parameters.zero + at[2], nest.inner_stride(2), arithmetic);
    store(values, n, rushlight::at(out, at[0]), nest.inner_stride(0));
  });
}

template <typename C>
void dequantize_in(KernelRuntimeContext& context, LoopNest& nest, const Tensor& in, const Tensor& out,
                   const QuantizationParameters& parameters, const AffineArithmetic& arithmetic) {
  const LoadIntegers<C> load = load_integers_of<C>(in.scalar_type());
  const LoadIntegers<double> load_exact = load_integers_of<double>(in.scalar_type());
  const Convert store = store_function(scalar_type_of<C>, out.scalar_type());
  // C represents every number of the narrow types exactly.
  const bool exact = is_built(ScalarType::Int) && arithmetic.subtracts_integers && in.element_size() > 2;
  for_chunks<C>(context, nest, [&](C* values, const int64_t* at, int64_t n) {
    const int64_t step = nest.inner_stride(2);
    const uint8_t* const from = rushlight::at(in, at[1]);
    if (exact) {
      alignas(64) double wide[kChunk];
      load_exact(from, nest.inner_stride(1), n, wide);
      apply_parameters(wide, n, parameters.zero + at[2], step, [](double x, double y) { return x - y; });
      for (int64_t i = 0; i < n; ++i) values[i] = static_cast<C>(wide[i]);
    } else {
      load(from, nest.inner_stride(1), n, values);
      if (!arithmetic.subtracts_integers) round_to(arithmetic.common, values, n);
      apply_parameters(values, n, parameters.zero + at[2], step, [](C x, C y) { return x - y; });
      if (arithmetic.subtracts_float32) {
        for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(values[i]);
      }
    }
    round_to(arithmetic.common, values, n);
    apply_parameters(values, n, parameters.scale + at[2], step, [](C x, C y) { return x * y; });
    round_to(arithmetic.common, values, n);
    store(values, 1, rushlight::at(out, at[0]), nest.inner_stride(0), n);
  });
}

}  // namespace

void quantize_elements(KernelRuntimeContext& context, LoopNest nest, const Tensor& in, const Tensor& out,
                       const QuantizationParameters& parameters, const AffineArithmetic& arithmetic) {
  if constexpr (is_built(ScalarType::Double)) {
    if (arithmetic.common == ScalarType::Double)
      return quantize_in<double>(context, nest, in, out, parameters, arithmetic);
  }
  quantize_in<float>(context, nest, in, out, parameters, arithmetic);
}

void dequantize_elements(KernelRuntimeContext& context, LoopNest nest, const Tensor& in, const Tensor& out,
                         const QuantizationParameters& parameters, const AffineArithmetic& arithmetic) {
  if constexpr (is_built(ScalarType::Double)) {
    if (arithmetic.common == ScalarType::Double)
      return dequantize_in<double>(context, nest, in, out, parameters, arithmetic);
  }
  dequantize_in<float>(context, nest, in, out, parameters, arithmetic);
}

void fake_quantize_elements(KernelRuntimeContext& context, LoopNest nest, const Tensor& in, const Tensor& out,
                            const QuantizationParameters& parameters, const double* inverse,
                            const AffineArithmetic& arithmetic) {
  const Convert load = load_function(ScalarType::Float, ScalarType::Float);
  for_chunks<float>(context, nest, [&](float* values, const int64_t* at, int64_t n) {
    const int64_t step = nest.inner_stride(2);
    load(rushlight::at(in, at[1]), nest.inner_stride(1), values, 1, n);
    quantize_chunk(values, n, inverse + at[2], parameters.zero + at[2], step, arithmetic);
    apply_parameters(values, n, parameters.zero + at[2], step, [](float x, float y) { return x - y; });
    apply_parameters(values, n, parameters.scale + at[2], step, [](float x, float y) { return x * y; });
    load(values, 1, rushlight::at(out, at[0]), nest.inner_stride(0), n);
  });
}

void quantize_parts(KernelRuntimeContext& context, const LoopNest& nest, const Tensor& in, const Tensor& out,
                    const Tensor& scales, const Tensor& zero_points, int64_t quant_min, int64_t quant_max) {
  const double* const inverse = elements_as_double(context, scales, true);
  const double* const zero = elements_as_double(context, zero_points);
  if (context.failed()) return;
  AffineArithmetic arithmetic;
  arithmetic.common = result_type(in, scales, zero_points);
  arithmetic.zero_before_rounding = true;
  arithmetic.quant_min = static_cast<double>(quant_min), arithmetic.quant_max = static_cast<double>(quant_max);
  quantize_elements(context, nest, in, out, {inverse, zero}, arithmetic);
}

void dequantize_parts(KernelRuntimeContext& context, const LoopNest& nest, const Tensor& in, const Tensor& out,
                      const Tensor& scales, const Tensor* zero_points) {
  const double* const scale = elements_as_double(context, scales);
  const double* zero = nullptr;
  if (zero_points) {
    zero = elements_as_double(context, *zero_points);
  } else if (double* zeros = context.allocate_temporary_array<double>(static_cast<size_t>(scales.numel() + 1))) {
    for (int64_t i = 0; i <= scales.numel(); ++i) zeros[i] = 0;
    zero = zeros;
  }
  if (context.failed()) return;
  AffineArithmetic arithmetic;
  arithmetic.common = zero_points ? result_type(in, scales, *zero_points) : result_type(in, scales);
  arithmetic.subtracts_integers = !zero_points || !is_floating(zero_points->scalar_type());
  arithmetic.subtracts_float32 = zero_points && zero_points->scalar_type() == ScalarType::Float;
  RL_KERNEL_REQUIRE(context, is_floating(arithmetic.common), InvalidType, "scales of dtype %s are not supported",
                    dtype_name(scales.scalar_type()));
  dequantize_elements(context, nest, in, out, {scale, zero}, arithmetic);
}

LoopNest nest_of_whole(const Tensor& out, const Tensor& in) {
  LoopNest nest;
  for (int64_t d = 0; d < out.dim(); ++d) nest.push(out.size(d), {out.stride(d), in.stride(d), 0});
  nest.operands = 3;
  return nest;
}

LoopNest nest_of_axis(const Tensor& out, const Tensor& in, int64_t axis) {
  LoopNest nest;
  for (int64_t d = 0; d < out.dim(); ++d) nest.push(out.size(d), {out.stride(d), in.stride(d), d == axis ? 1 : 0});
  nest.operands = 3;
  return nest;
}

LoopNest nest_of_groups(const Tensor& out, const Tensor& in, int64_t group) {
  LoopNest nest;
  const int64_t last = out.dim() - 1;
  int64_t part = 1;
  for (int64_t d = 0; d < last; ++d) part *= out.size(d);
  const int64_t groups = group > 0 ? out.size(last) / group : 0;
  part *= groups;
  for (int64_t d = 0; d < last; ++d) {
    part = out.size(d) > 0 ? part / out.size(d) : 0;
    nest.push(out.size(d), {out.stride(d), in.stride(d), part});
  }
  nest.push(groups, {group * out.stride(last), group * in.stride(last), 1});
  nest.push(group, {out.stride(last), in.stride(last), 0});
  return nest;
}

const double* elements_as_double(KernelRuntimeContext& context, const Tensor& tensor, bool invert) {
  double* const numbers = context.allocate_temporary_array<double>(static_cast<size_t>(tensor.numel() + 1));
  if (numbers == nullptr) return nullptr;
  const ScalarType type = tensor.scalar_type();
  if (!dtypes::kRealH.contains(type)) {
    context.fail(Error::InvalidType, "scales and zero points of dtype %s are not supported", dtype_name(type));
    return nullptr;
  }
  LoopNest nest = LoopNest::over(tensor.sizes());
  nest.add(tensor);
  double* next = numbers;
  const Convert load = load_function(type, compute_type(type));
  for_each_row(nest, 0, nest.numel(), [&](const int64_t* offsets, int64_t n) {
    double* const row = next;
    next += n;
    load(at(tensor, offsets[0]), nest.inner_stride(0), row, 1, n);
    // Converts the numbers to double in place, from the last to the first one, because double is not smaller.
    for (double* to = next; to != row;) {
      const auto i = static_cast<size_t>(--to - row);
      if (compute_type(type) == ScalarType::Double) {
        if (invert) *to = 1.0 / *to;
      } else if (compute_type(type) == ScalarType::Float) {
        float value;
        std::memcpy(&value, reinterpret_cast<const uint8_t*>(row) + i * sizeof(value), sizeof(value));
        if (invert) {
          value = 1.0f / value;
          round_to(type, &value, 1);
        }
        *to = value;
      } else {
        int64_t value;
        std::memcpy(&value, to, sizeof(value));
        *to = invert ? 1.0f / static_cast<float>(value) : static_cast<double>(value);
      }
    }
  });
  return numbers;
}

const float* elements_as_float(KernelRuntimeContext& context, const Tensor& tensor) {
  if (tensor.scalar_type() == ScalarType::Float && is_row_major(tensor)) return tensor.const_data_ptr<float>();
  const double* const numbers = elements_as_double(context, tensor);
  const auto count = static_cast<size_t>(tensor.numel());
  float* const narrow = numbers ? context.allocate_temporary_array<float>(count + 1) : nullptr;
  if (narrow == nullptr) return nullptr;
  for (size_t i = 0; i < count; ++i) narrow[i] = static_cast<float>(numbers[i]);
  return narrow;
}

bool single_element(KernelRuntimeContext& context, const char* name, const Tensor& tensor, double* value) {
  if (tensor.numel() != 1) {
    context.fail(Error::InvalidArgument, "the %s has %lld elements, not one", name,
                 static_cast<long long>(tensor.numel()));
    return false;
  }
  const double* numbers = elements_as_double(context, tensor);
  if (numbers == nullptr) return false;
  *value = numbers[0];
  return true;
}

bool require_range(KernelRuntimeContext& context, int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  int64_t dtype_min = 0, dtype_max = 0;
  switch (dtype) {
    case ScalarType::Byte:
      dtype_max = 255;
      break;
    case ScalarType::Char:
      dtype_min = -128, dtype_max = 127;
      break;
    case ScalarType::Short:
      dtype_min = -32768, dtype_max = 32767;
      break;
    case ScalarType::UInt16:
      dtype_max = 65535;
      break;
    case ScalarType::Int:
      dtype_min = std::numeric_limits<int32_t>::min(), dtype_max = std::numeric_limits<int32_t>::max();
      break;
    default:
      context.fail(Error::InvalidType, "cannot quantize to %s", dtype_name(dtype));
      return false;
  }
  if (quant_min < dtype_min || quant_max > dtype_max || quant_min > quant_max) {
    context.fail(Error::InvalidArgument, "the range [%lld, %lld] is empty or exceeds the range of %s",
                 static_cast<long long>(quant_min), static_cast<long long>(quant_max), dtype_name(dtype));
    return false;
  }
  return true;
}

bool require_dtype(KernelRuntimeContext& context, const char* name, const Tensor& tensor, ScalarType dtype) {
  if (tensor.scalar_type() == dtype) return true;
  context.fail(Error::InvalidType, "%s has elements of %s, not %s", name, dtype_name(tensor.scalar_type()),
               dtype_name(dtype));
  return false;
}

}  // namespace rushlight::quantized
