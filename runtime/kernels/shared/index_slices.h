#pragma once

#include <cstdint>

#include "kernels/shared/axes.h"
#include "kernels/shared/index_reader.h"

namespace rushlight {

// Checks the arguments of an operator that writes slices of out, a copy of `in`, at the positions `index` along `dim`,
// and makes the copy. `source` has one slice for each position; operators without a source pass `in`. Returns false if
// an argument is invalid or there is no element to write.
bool begin_index_slices(KernelRuntimeContext& context, const Tensor& in, int64_t dim, const Tensor& index,
                        const Tensor& source, const Tensor& out, int64_t* axis);

// Calls body(element of source, element of out) for all elements of all slices, in the order of the index.
template <typename Body>
void for_each_in_slices(const Tensor& index, int64_t axis, const Tensor& source, const Tensor& out, const Body& body) {
  const IndexReader positions(index);
  const int64_t rank = out.dim();
  const int64_t slice = out.numel() / size_at(out, axis);
  for (int64_t i = 0; i < index.numel(); ++i) {
    int64_t at[kMaxDim] = {};
    int64_t read = i * stride_at(source, axis), write = positions[i] * stride_at(out, axis);
    for (int64_t n = 0; n < slice; ++n) {
      body(read, write);
      for (int64_t d = rank - 1; d >= 0; --d) {
        if (d == axis) continue;
        read += source.stride(d);
        write += out.stride(d);
        if (++at[d] < out.size(d)) break;
        read -= out.size(d) * source.stride(d);
        write -= out.size(d) * out.stride(d);
        at[d] = 0;
      }
    }
  }
}

}  // namespace rushlight
