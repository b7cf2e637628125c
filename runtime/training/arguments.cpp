#include "training/arguments.h"

#include <cstring>

namespace rushlight {

Error check_like(const Tensor& parameter, const Tensor& other, ScalarType dtype, const char* what) {
  if (dtype == parameter.scalar_type()) {
    RL_REQUIRE(other.scalar_type() == dtype, InvalidArgument, "the %s is %s, but the parameter is %s", what,
               dtype_name(other.scalar_type()), dtype_name(dtype));
  } else {
    RL_REQUIRE(other.scalar_type() == dtype, InvalidArgument, "the %s is %s, but must be %s for a parameter of %s",
               what, dtype_name(other.scalar_type()), dtype_name(dtype), dtype_name(parameter.scalar_type()));
  }
  RL_REQUIRE(same_shape(parameter, other), InvalidArgument, "the %s does not have the shape of the parameter", what);
  RL_REQUIRE(std::memcmp(parameter.dim_order().data(), other.dim_order().data(), parameter.dim_order().size()) == 0,
             InvalidArgument, "the %s does not have the dim order of the parameter", what);
  RL_REQUIRE(other.numel() == 0 || other.const_data_ptr(), InvalidArgument, "the %s has no memory", what);
  return Error::Ok;
}

Error check_gradient(const char* optimizer, const Tensor& parameter, const Tensor& gradient) {
  const ScalarType dtype = parameter.scalar_type();
  RL_REQUIRE(parameter.numel() == 0 || parameter.const_data_ptr(), InvalidArgument, "the parameter has no memory");
  RL_TRY(check_like(parameter, gradient, dtype, "gradient"));
  RL_REQUIRE(dtype == ScalarType::Float || dtype == ScalarType::Double || dtype == ScalarType::Half ||
                 dtype == ScalarType::BFloat16,
             NotSupported, "%s does not support parameters of dtype %s, only float32, float64, float16 and bfloat16",
             optimizer, dtype_name(dtype));
  return Error::Ok;
}

}  // namespace rushlight
