#pragma once

#include "executorch/extension/tensor/tensor_ptr.h"

namespace executorch {
namespace extension {

using ::rushlight::empty;
using ::rushlight::empty_like;
using ::rushlight::empty_strided;
using ::rushlight::for_blob;
using ::rushlight::from_blob;
using ::rushlight::full;
using ::rushlight::full_like;
using ::rushlight::full_strided;
using ::rushlight::ones;
using ::rushlight::ones_like;
using ::rushlight::rand;
using ::rushlight::rand_like;
using ::rushlight::rand_strided;
using ::rushlight::randint;
using ::rushlight::randint_like;
using ::rushlight::randint_strided;
using ::rushlight::randn;
using ::rushlight::randn_like;
using ::rushlight::randn_strided;
using ::rushlight::scalar_tensor;
using ::rushlight::TensorPtrMaker;
using ::rushlight::zeros;
using ::rushlight::zeros_like;

}  // namespace extension
}  // namespace executorch
