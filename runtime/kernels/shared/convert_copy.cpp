#include "kernels/shared/convert_copy.h"

#include <algorithm>

#include "core/move_bytes.h"
#include "kernels/shared/axes.h"
#include "kernels/shared/convert.h"
#include "kernels/shared/elementwise.h"
#include "kernels/shared/promotion.h"
#include "kernels/shared/strided_copy.h"

namespace rushlight {
namespace {

// Broadcasts the source along axes that it lacks or in which its size is 1.
void copy_broadcast(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  StridedLoops loops;
  const int64_t missing = out.dim() - source.dim();
  for (int64_t i = 0; i < out.dim(); ++i) {
    const bool repeated = i < missing || source.size(i - missing) == 1;
    loops.add(out.size(i), repeated ? 0 : source.stride(i - missing), out.stride(i));
  }
  strided_copy(context, loops, source.const_data_ptr(), out.mutable_data_ptr(), out.element_size());
}

// Converts between integers of at most 4 bytes. The sign of the result does not matter, because its low bytes are those
// of the source.
template <typename From, typename To>
void convert_width(const void* from, int64_t, void* to, int64_t, int64_t n) {
  if constexpr (sizeof(From) == sizeof(To)) {
    move_bytes(to, from, static_cast<size_t>(n) * sizeof(To));
  } else {
    const From* const source = static_cast<const From*>(from);
    To* const __restrict target = static_cast<To*>(to);
    for (int64_t i = 0; i < n; ++i) target[i] = static_cast<To>(source[i]);
  }
}

Convert integer_function(ScalarType from, ScalarType to) {
  if (!is_integral(from) || !is_integral(to)) return nullptr;
  const bool is_unsigned = from == ScalarType::Byte;
  switch (element_size(from) * 16 + element_size(to)) {
    case 0x11:
      return convert_width<uint8_t, uint8_t>;
    case 0x12:
      return is_unsigned ? convert_width<uint8_t, uint16_t> : convert_width<int8_t, uint16_t>;
    case 0x14:
      return is_unsigned ? convert_width<uint8_t, uint32_t> : convert_width<int8_t, uint32_t>;
    case 0x21:
      return convert_width<uint16_t, uint8_t>;
    case 0x24:
      return from == ScalarType::Short ? convert_width<int16_t, uint32_t> : nullptr;
    case 0x41:
      return convert_width<uint32_t, uint8_t>;
    case 0x42:
      return convert_width<uint32_t, uint16_t>;
    default:
      return nullptr;
  }
}

// A conversion in two steps: to float32, and from float32. Without a second step, the first one converts.
struct Conversion {
  Convert first = nullptr;
  Convert second = nullptr;

  Conversion(ScalarType from, ScalarType to) {
    const auto is_half = [](ScalarType type) { return dtypes::kHalf.contains(type); };
    if ((is_half(from) || is_half(to)) && from != ScalarType::Float && to != ScalarType::Float) {
      first = load_function(from, ScalarType::Float);
      second = store_function(ScalarType::Float, to);
      if (!second) first = nullptr;
      return;
    }
    first = integer_function(from, to);
    if (!first) first = load_function(from, to);
    if (!first) first = store_function(from, to);
  }
  void run(const Tensor& source, const Tensor& out, int64_t begin, int64_t end) const {
    constexpr int64_t kBlock = 512;
    if (!second) return first(at(source, begin), 1, at(out, begin), 1, end - begin);
    float numbers[kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i);
      first(at(source, i), 1, numbers, 1, n);
      second(numbers, 1, at(out, i), 1, n);
    }
  }
};

// Copies between tensors with the same layout, if the conversion has at most two steps.
bool convert_whole(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  constexpr int64_t kGrain = 16 * 1024;
  if (!same_layout(source, out)) return false;
  const ScalarType type = source.scalar_type(), to = out.scalar_type();
  // Compilers generate better loops for bytes than for bools.
  const ScalarType from = type == ScalarType::Bool ? ScalarType::Byte : type;
  const Conversion conversion(from, to);
  if (!conversion.first || is_complex(from) || is_complex(to)) return false;
  context.parallel_for(0, out.numel(), kGrain,
                       [&](int64_t begin, int64_t end) { conversion.run(source, out, begin, end); });
  return true;
}

}  // namespace

void convert_copy(KernelRuntimeContext& context, const Tensor& source, const Tensor& out) {
  Shape shape;
  if (!broadcast_shape(context, shape, out.sizes()) || !broadcast_shape(context, shape, source.sizes())) return;
  RL_KERNEL_REQUIRE(context, checked_numel(shape.span()) == out.numel() && shape.dim == out.dim(), InvalidArgument,
                    "a tensor of %lld elements does not broadcast to a tensor of %lld elements",
                    static_cast<long long>(source.numel()), static_cast<long long>(out.numel()));
  const ScalarType type = source.scalar_type();
  if (type == out.scalar_type()) {
    copy_broadcast(context, source, out);
    return;
  }
  if (convert_whole(context, source, out)) return;
  switch_compute<kinds::kAll>(context, type, [&](auto tag) {
    using C = typename decltype(tag)::type;
    map_elements<C>(context, {source}, out, type, [](C x) { return x; });
  });
}

}  // namespace rushlight
