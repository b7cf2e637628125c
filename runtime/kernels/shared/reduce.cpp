#include "kernels/shared/reduce.h"

#include "kernels/shared/convert.h"
#include "kernels/shared/loop_nest.h"

namespace rushlight {
namespace {

constexpr int64_t kBlockBytes = 1024;
constexpr int64_t kTile = 16;      // results computed together if adjacent elements belong to different results
constexpr int64_t kGrain = 16384;  // minimum number of input elements per thread

struct alignas(16) State {
  uint8_t bytes[kMaxReduceState];
};

class Runner {
 public:
  Runner(const Tensor& input, Span<const Tensor> outs, const LoopNest& kept, const LoopNest& reduced,
         const ReduceFunction& function)
      : input_(input), outs_(outs), kept_(kept), reduced_(reduced), function_(function) {
    direct_ = input.scalar_type() == function.compute && reduced.inner_stride(0) == 1;
    load_ = load_function(input.scalar_type(), function.compute);
    for (size_t i = 0; i < outs.size(); ++i) store_[i] = store_function(function.results[i], outs[i].scalar_type());
    tile_ = kept.inner_stride(0) < reduced.inner_stride(0) ? kTile : 1;
    reduced_numel_ = reduced.numel();
  }

  bool is_supported() const {
    for (size_t i = 0; i < outs_.size(); ++i) {
      if (!store_[i]) return false;
    }
    return load_ != nullptr;
  }

  // Computes the results [begin, end), in the order of the loops `kept`.
  void run(int64_t begin, int64_t end) const {
    for_each_row(kept_, begin, end, [&](const int64_t* offsets, int64_t n) {
      for (int64_t first = 0; first < n; first += tile_) {
        run_tile(offsets, first, n - first < tile_ ? n - first : tile_);
      }
    });
  }

 private:
  void run_tile(const int64_t* offsets, int64_t first, int64_t count) const {
    State states[kTile];
    for (int64_t j = 0; j < count; ++j) function_.init(function_.function, states[j].bytes);
    const int64_t base = offsets[0] + first * kept_.inner_stride(0);
    if (reduced_.dim <= 1) {
      update_states(states, count, base, reduced_numel_);
    } else {
      for_each_row(reduced_, 0, reduced_numel_,
                   [&](const int64_t* inner, int64_t n) { update_states(states, count, base + inner[0], n); });
    }
    for (int64_t j = 0; j < count; ++j) {
      alignas(16) uint8_t results[2][16];
      void* const pointers[2] = {results[0], results[1]};
      function_.finish(function_.function, states[j].bytes, pointers);
      for (size_t i = 0; i < outs_.size(); ++i) {
        const int operand = static_cast<int>(i) + 1;
        const int64_t element = offsets[operand] + (first + j) * kept_.inner_stride(operand);
        store_[i](results[i], 1, at(outs_[i], element), 1, 1);
      }
    }
  }

  // Updates the first state with n elements that begin at `offset`, and each further state with the elements next to
  // those of the state before.
  void update_states(State* states, int64_t count, int64_t offset, int64_t n) const {
    alignas(64) uint8_t block[kBlockBytes];
    const int64_t stride = reduced_.inner_stride(0);
    const int64_t limit = direct_ ? n : kBlockBytes / static_cast<int64_t>(element_size(function_.compute));
    for (int64_t first = 0; first < n; first += limit) {
      const int64_t length = n - first < limit ? n - first : limit;
      for (int64_t j = 0; j < count; ++j) {
        const void* data = at(input_, offset + first * stride + j * kept_.inner_stride(0));
        if (!direct_) {
          load_(data, stride, block, 1, length);
          data = block;
        }
        function_.update(function_.function, states[j].bytes, data, length);
      }
    }
  }

  const Tensor& input_;
  Span<const Tensor> outs_;
  const LoopNest& kept_;
  const LoopNest& reduced_;
  const ReduceFunction& function_;
  bool direct_;
  Convert load_;
  Convert store_[2] = {};
  int64_t tile_;
  int64_t reduced_numel_;
};

}  // namespace

bool dim_mask(KernelRuntimeContext& context, const Tensor& input, int64_t dim, DimMask* mask) {
  int64_t axis;
  if (!normalize_dim(context, dim, input.dim(), &axis)) return false;
  *mask = DimMask(1) << axis;
  return true;
}

bool dim_mask(KernelRuntimeContext& context, const Tensor& input, std::optional<Span<const int64_t>> dims,
              DimMask* mask, bool empty_is_all) {
  if (!dims || (dims->empty() && empty_is_all)) {
    *mask = (DimMask(1) << (input.dim() > 0 ? input.dim() : 1)) - 1;
    return true;
  }
  *mask = 0;
  for (const int64_t dim : *dims) {
    DimMask one;
    if (!dim_mask(context, input, dim, &one)) return false;
    if (*mask & one) {
      context.fail(Error::InvalidArgument, "dim %lld appears twice in the list of dims", static_cast<long long>(dim));
      return false;
    }
    *mask |= one;
  }
  return true;
}

Shape reduced_shape(const Tensor& input, DimMask mask, bool keepdim) {
  Shape shape;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (!(mask >> d & 1)) {
      shape.push(input.size(d));
    } else if (keepdim) {
      shape.push(1);
    }
  }
  return shape;
}

int64_t reduced_numel(const Tensor& input, DimMask mask) {
  int64_t count = 1;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (mask >> d & 1) count *= input.size(d);
  }
  return count;
}

bool require_nonempty(KernelRuntimeContext& context, const Tensor& input, DimMask mask, const char* what) {
  if (reduced_numel(input, mask) > 0) return true;
  context.fail(Error::InvalidArgument, "%s of no elements is not defined", what);
  return false;
}

void run_reduce(KernelRuntimeContext& context, const Tensor& input, DimMask mask, bool keepdim, Span<const Tensor> outs,
                bool ordered, const ReduceFunction& function) {
  LoopNest kept, reduced;
  kept.operands = 1 + static_cast<int>(outs.size());
  reduced.operands = 1;
  int64_t axis = 0;  // axis of the outs
  for (int64_t d = 0; d < input.dim(); ++d) {
    const bool reduces = (mask >> d & 1) != 0;
    LoopNest& nest = reduces ? reduced : kept;
    nest.size[nest.dim] = input.size(d);
    nest.stride[0][nest.dim] = input.stride(d);
    for (size_t i = 0; !reduces && i < outs.size(); ++i) nest.stride[i + 1][nest.dim] = outs[i].stride(axis);
    ++nest.dim;
    if (!reduces || keepdim) ++axis;
  }
  const int64_t results = kept.numel();
  if (results == 0) return;
  kept.sort_by(0);
  kept.collapse();
  if (!ordered) reduced.sort_by(0);
  reduced.collapse();
  const Runner runner(input, outs, kept, reduced, function);
  RL_KERNEL_REQUIRE(context, runner.is_supported(), InvalidType, "a reduction from %s to %s is not supported",
                    dtype_name(input.scalar_type()), dtype_name(outs[0].scalar_type()));
  const int64_t elements_per_result = reduced.numel();
  const int64_t grain = elements_per_result > 0 && elements_per_result < kGrain
                            ? (kGrain / elements_per_result + kTile - 1) / kTile * kTile
                            : kTile;
  context.parallel_for(0, results, grain, [&](int64_t begin, int64_t end) { runner.run(begin, end); });
}

}  // namespace rushlight
