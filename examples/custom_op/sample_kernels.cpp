#include "sample_kernels.h"

#include <algorithm>
#include <optional>

#include "rushlight/core/library.h"

namespace {

using namespace rushlight;

// sample::gate.out(Tensor x, Tensor? bias=None, *, float limit=6.0, Tensor(a!) out) -> Tensor(a!)
void gate_out(KernelRuntimeContext& context, const Tensor& x, const std::optional<Tensor>& bias, double limit,
              Tensor& out) {
  const int64_t features = x.dim() > 0 ? x.size(x.dim() - 1) : 1;
  RL_KERNEL_REQUIRE(context, limit > 0, InvalidArgument, "limit must be above 0, not %g", limit);
  RL_KERNEL_REQUIRE(context, !bias || bias->numel() == features, InvalidArgument, "bias has %lld elements, not %lld",
                    static_cast<long long>(bias->numel()), static_cast<long long>(features));
  const Error error = resize_tensor(out, x.sizes());
  if (error != Error::Ok) return context.fail(error);
  const float* input = x.const_data_ptr<float>();
  const float* added = bias ? bias->const_data_ptr<float>() : nullptr;
  float* result = out.mutable_data_ptr<float>();
  const auto top = static_cast<float>(limit);
  context.parallel_for(0, x.numel(), 4096, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float shifted = input[i] + (added ? added[i % features] : 0.0f);
      result[i] = input[i] * std::min(std::max(shifted, 0.0f), top) / top;
    }
  });
}

// sample::extent.out(Tensor x, *, Tensor(a!) low, Tensor(b!) high) -> (Tensor(a!), Tensor(b!))
void extent_out(KernelRuntimeContext& context, const Tensor& x, Tensor& low, Tensor& high) {
  RL_KERNEL_REQUIRE(context, x.dim() > 0 && x.size(0) > 0, InvalidArgument, "extent needs at least one row");
  const Span<const SizesType> inner = x.sizes().subspan(1, static_cast<size_t>(x.dim() - 1));
  for (const Tensor& out : {low, high}) {
    const Error error = resize_tensor(out, inner);
    if (error != Error::Ok) return context.fail(error);
  }
  const int64_t width = low.numel();
  const float* row = x.const_data_ptr<float>();
  float* least = low.mutable_data_ptr<float>();
  float* greatest = high.mutable_data_ptr<float>();
  std::copy(row, row + width, least);
  std::copy(row, row + width, greatest);
  for (int64_t i = 1; i < x.size(0); ++i) {
    row += width;
    for (int64_t j = 0; j < width; ++j) {
      least[j] = std::min(least[j], row[j]);
      greatest[j] = std::max(greatest[j], row[j]);
    }
  }
}

// sample::blend.out(Tensor[] parts, float[] weights, *, Tensor(a!) out) -> Tensor(a!)
void blend_out(KernelRuntimeContext& context, Span<const Tensor> parts, Span<const double> weights, Tensor& out) {
  RL_KERNEL_REQUIRE(context, parts.size() == weights.size() && !parts.empty(), InvalidArgument,
                    "blend has %zu parts but %zu weights", parts.size(), weights.size());
  for (const Tensor& part : parts) {
    RL_KERNEL_REQUIRE(context, same_shape(part, parts[0]) && part.scalar_type() == ScalarType::Float, InvalidArgument,
                      "the parts must have equal shapes and dtypes");
  }
  const Error error = resize_tensor(out, parts[0].sizes());
  if (error != Error::Ok) return context.fail(error);
  float* result = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < parts.size(); ++j)
      sum += weights[j] * static_cast<double>(parts[j].const_data_ptr<float>()[i]);
    result[i] = static_cast<float>(sum);
  }
}

constexpr DtypeSet kFloat32{ScalarType::Float};

constexpr Kernel kRows[] = {
    {"sample::gate.out", boxed<&gate_out>, kFloat32},
    {"sample::extent.out", boxed<&extent_out>, kFloat32},
    {"sample::blend.out", boxed<&blend_out>, kFloat32},
};
constexpr auto kTable = sorted_table(kRows);

}  // namespace

KernelTable sample_kernels() { return {kTable.data(), kTable.size()}; }

RUSHLIGHT_KERNEL_LIBRARY("sample", kRows);
