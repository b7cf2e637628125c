#pragma once

#include "executorch/extension/tensor/tensor_accessor.h"
#include "executorch/extension/tensor/tensor_ptr.h"
#include "executorch/extension/tensor/tensor_ptr_maker.h"
