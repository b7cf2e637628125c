// A kernel returns false if it does not support the arguments; then the portable kernel of the same name runs.
#pragma once

#include <cstdint>
#include <optional>

#include "rushlight/core/kernel_context.h"

namespace rushlight::optimized {

bool embedding_bag_out(KernelRuntimeContext& context, const Tensor& weight, const Tensor& indices,
                       const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse,
                       const std::optional<Tensor>& per_sample_weights, bool include_last_offset, int64_t padding_idx,
                       Tensor& out, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices);
bool index_add_out(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                   const Tensor& source, const Scalar& alpha, Tensor& out);

}  // namespace rushlight::optimized
