// Fully connected nodes whose 4-bit weights have a scale for each group of input features. Each group is a GEMM of its
// own, whose sums are scaled and added up as floats.
#include <algorithm>
#include <cmath>

#include "backends/xnnpack/int8_step.h"
#include "backends/xnnpack/quantized.h"
#include "core/rounding.h"
#include "microkernels/gemm/int8.h"
#include "rushlight/core/half.h"
#include "rushlight/platform/platform.h"

namespace rushlight::xnnpack {
namespace {

using By = Quantization::By;
using microkernels::Int8Microkernels;

struct Extents {
  int64_t inputs, outputs, size, groups;

  size_t group_bytes() const {
    return static_cast<size_t>(round_up(
        static_cast<int64_t>(microkernels::packed_rhs_size(microkernels::int8_microkernels(), outputs, size)), 64));
  }
};

class Int8GroupsStep final : public ThreadedStep {
 public:
  // multipliers: [groups, outputs]. offsets: [outputs] or null.
  Int8GroupsStep(const Node& node, size_t threads, const Extents& extents, PackedWeights&& weights,
                 const float* multipliers, const float* offsets)
      : ThreadedStep(node, threads),
        e_(extents),
        weights_(static_cast<PackedWeights&&>(weights)),
        multipliers_(multipliers),
        offsets_(offsets) {}

  bool reads(uint32_t input) const override { return input == 0; }

  size_t scratch_bytes(const Operand*) const override { return static_cast<size_t>(threads_) * worker_bytes(); }

  Error setup(const Operand* operands, void* scratch, pthreadpool*) override {
    in_ = operands[node_.inputs[0]];
    out_ = static_cast<float*>(operands[node_.output].data);
    scratch_ = static_cast<uint8_t*>(scratch);
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    const int64_t step = microkernels::column_step(microkernels::int8_microkernels());
    share(context, (e_.outputs + step - 1) / step, [&](int64_t worker, int64_t begin, int64_t end) {
      const int64_t first = begin * step, last = std::min(end * step, e_.outputs);
      for (int64_t group = 0; group < e_.groups; ++group) multiply(worker, group, first, last);
    });
    return Error::Ok;
  }

 private:
  size_t worker_bytes() const {
    return static_cast<size_t>(
        round_up(static_cast<int64_t>(microkernels::gemm_scratch(microkernels::int8_microkernels(), e_.size)), 64));
  }

  void multiply(int64_t worker, int64_t group, int64_t begin, int64_t end) const {
    const bool is_last = group + 1 == e_.groups, is_bounded = is_last && node_.has_bounds;
    microkernels::Int8Gemm p{};
    p.m = in_.rows(), p.n = e_.outputs, p.k = e_.size;
    p.lhs = static_cast<const uint8_t*>(in_.data) + group * e_.size;
    p.lhs_stride = e_.inputs;
    p.rhs = reinterpret_cast<const uint8_t*>(weights_.floats()) + static_cast<size_t>(group) * e_.group_bytes();
    p.out_kind = microkernels::Int8Gemm::Out::Float32;
    p.accumulate = group > 0;
    p.zeros = in_.row_zeros();
    p.scales = in_.row_scales();
    p.row_step = 1;
    p.multiplier = multipliers_ + group * e_.outputs;
    p.offset = group == 0 ? offsets_ : nullptr;
    p.least = is_bounded ? node_.min : -INFINITY;
    p.most = is_bounded ? node_.max : INFINITY;
    p.out = out_;
    p.out_stride = e_.outputs;
    microkernels::multiply(microkernels::int8_microkernels(), p, 0, p.m, begin, end,
                           scratch_ + static_cast<size_t>(worker) * worker_bytes());
  }

  const Extents e_;
  PackedWeights weights_;
  const float* const multipliers_;
  const float* const offsets_;
  Operand in_;
  float* out_ = nullptr;
  uint8_t* scratch_ = nullptr;
};

}  // namespace

Error make_int8_groups_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                            MemoryAllocator& allocator, Step** step) {
  const Value& in = graph.values[node.inputs[0]];
  const Value& weights = graph.values[node.inputs[1]];
  if (weights.quantization.by != By::Group || in.quantization.by != By::Row) return Error::Ok;
  if (graph.values[node.output].dtype != ScalarType::Float || operands[node.inputs[0]].row_dims != 1) return Error::Ok;
  const Value* bias = node.inputs[2] == kNone ? nullptr : &graph.values[node.inputs[2]];
  if (bias && (bias->dtype != ScalarType::Float || bias->constant == nullptr)) return Error::Ok;
  Extents e{weights.shape.dims[1], weights.shape.dims[0], weights.quantization.group, 0};
  e.groups = e.inputs / e.size;

  int8_t* numbers = static_cast<int8_t*>(platform::allocate(static_cast<size_t>(e.outputs * e.inputs), 64));
  RL_REQUIRE(numbers != nullptr, MemoryAllocationFailed, "no memory to pack weights");
  PackingKey key = packing_key(graph, node, 5);
  key.bias_hash = 0;
  key.layout[6] = static_cast<uint64_t>(e.size);
  const size_t floats = static_cast<size_t>(e.groups) * e.group_bytes() / sizeof(float);
  auto packed = PackedWeights::get(key, floats, [&](float* to) {
    expand_int4(weights, numbers);
    for (int64_t g = 0; g < e.groups; ++g) {
      microkernels::pack_rhs(microkernels::int8_microkernels(), numbers + g * e.size, e.inputs, e.outputs, e.size,
                             reinterpret_cast<uint8_t*>(to) + static_cast<size_t>(g) * e.group_bytes());
    }
  });
  platform::release(numbers);
  if (!packed.ok()) return packed.error();

  float* multipliers = allocator.allocate_array<float>(static_cast<size_t>(e.groups * e.outputs));
  float* offsets = bias ? allocator.allocate_array<float>(static_cast<size_t>(e.outputs)) : nullptr;
  RL_REQUIRE(multipliers && (offsets || !bias), MemoryAllocationFailed, "no memory for %lld scales",
             static_cast<long long>(e.groups * e.outputs));
  const uint16_t* scales = static_cast<const uint16_t*>(weights.quantization.scales);
  for (int64_t i = 0; i < e.outputs * e.groups; ++i) {
    multipliers[i % e.groups * e.outputs + i / e.groups] = detail::bfloat16_to_float(scales[i]);
  }
  if (bias) std::copy_n(static_cast<const float*>(bias->constant), e.outputs, offsets);
  return make_in<Int8GroupsStep>(allocator, step, node, threads, e, static_cast<PackedWeights&&>(packed.get()),
                                 multipliers, offsets);
}

}  // namespace rushlight::xnnpack
