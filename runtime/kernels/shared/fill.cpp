#include "kernels/shared/fill.h"

#include <algorithm>
#include <cstring>

#include "kernels/shared/convert.h"
#include "kernels/shared/dtype_switch.h"

namespace rushlight {

void store_number(const Scalar& number, ScalarType type, void* element) {
  if (number.is_double()) {
    const double value = number.to<double>();
    store_function(ScalarType::Double, type)(&value, 1, element, 1, 1);
  } else {
    const int64_t value = number.to<int64_t>();
    store_function(ScalarType::Long, type)(&value, 1, element, 1, 1);
  }
}

void fill_elements(KernelRuntimeContext& context, void* dst, int64_t count, const void* element, size_t element_size) {
  const int64_t size = static_cast<int64_t>(element_size);
  context.parallel_for(0, count, (1 << 16) / size, [&](int64_t begin, int64_t end) {
    switch_element_size(context, element_size, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T value;
      std::memcpy(&value, element, sizeof(T));
      std::fill(static_cast<T*>(dst) + begin, static_cast<T*>(dst) + end, value);
    });
  });
}

void fill_tensor(KernelRuntimeContext& context, const Tensor& out, const Scalar& number) {
  alignas(16) uint8_t element[kMaxElementSize];
  store_number(number, out.scalar_type(), element);
  fill_elements(context, out.mutable_data_ptr(), out.numel(), element, out.element_size());
}

}  // namespace rushlight
