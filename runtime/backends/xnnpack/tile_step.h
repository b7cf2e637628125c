// Convolutions and matrix products on our own tiles, with weights packed once.
#pragma once

#include <cstdint>

#include "backends/xnnpack/packed_weights.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {

// A convolution or a fully connected layer (height, width and window 1; the batch in `rows`) over channels-last
// float32.
struct Conv {
  int64_t batch, height, width, out_height, out_width;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left;
  int64_t groups, inputs, outputs;  // channels of one group

  int64_t channels() const { return groups * inputs; }
  int64_t out_channels() const { return groups * outputs; }
  int64_t pixels() const { return batch * out_height * out_width; }
  bool is_pointwise() const {
    return kernel_h == 1 && kernel_w == 1 && stride_h == 1 && stride_w == 1 && top == 0 && left == 0 &&
           out_height == height && out_width == width;
  }
};

Conv conv_of(const Node& node, const Operand* operands);

// A step that convolves. `threads` is the most that run() uses.
class TileStep : public Step {
 public:
  TileStep(const Node& node, size_t threads) : Step(node), threads_(static_cast<int64_t>(threads)) {}
  bool reads(uint32_t input) const override { return input == 0; }
  Error setup(const Operand* operands, void* scratch, pthreadpool*) override;

 protected:
  const float* bounds() const { return node_.has_bounds ? bounds_ : nullptr; }
  int64_t workers(const KernelRuntimeContext& context) const {
    const int64_t given = static_cast<int64_t>(context.thread_count());
    return given < threads_ ? given : threads_;
  }
  // Calls body(worker, begin, end) on disjoint ranges that cover [0, count).
  template <typename Body>
  void share(KernelRuntimeContext& context, int64_t count, const Body& body) const {
    const int64_t most = workers(context);
    const int64_t used = count < most ? count : most;
    context.parallel_for(0, used, 1, [&](int64_t first, int64_t last) {
      for (int64_t w = first; w < last; ++w) body(w, count * w / used, count * (w + 1) / used);
    });
  }

  const int64_t threads_;
  Conv conv_{};
  const float* in_ = nullptr;
  float* out_ = nullptr;
  float* scratch_ = nullptr;
  float bounds_[2] = {node_.min, node_.max};
};

// What makes one kind of step; null in `*step` if it does not suit the node.
Error make_product_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                        MemoryAllocator& allocator, Step** step);
Error make_winograd_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                         MemoryAllocator& allocator, Step** step);
Error make_depthwise_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                          MemoryAllocator& allocator, Step** step);

// The key of a node's weights and bias; `layout` begins with a number of the algorithm's own.
PackingKey packing_key(const Graph& graph, const Node& node, uint64_t algorithm);

inline int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

template <typename T, typename... Arguments>
Error make_in(MemoryAllocator& allocator, Step** step, Arguments&&... arguments) {
  void* memory = allocator.allocate(sizeof(T), alignof(T));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  *step = new (memory) T(static_cast<Arguments&&>(arguments)...);
  return Error::Ok;
}

}  // namespace rushlight::xnnpack
