// Convolutions and matrix products with microkernels. The weights are packed once.
#pragma once

#include <cstdint>

#include "backends/xnnpack/packed_weights.h"
#include "backends/xnnpack/threaded_step.h"
#include "microkernels/image.h"
#include "microkernels/tables/f32_packed.h"

namespace rushlight::xnnpack {

// The sizes of a convolution or a fully connected layer over channels-last float32. For a fully connected layer,
// height, width and window are 1, and `rows` is the batch size.
struct Conv {
  int64_t batch, height, width, out_height, out_width;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left;
  int64_t groups, inputs, outputs;  // input and output channels of one group

  int64_t channels() const { return groups * inputs; }
  int64_t out_channels() const { return groups * outputs; }
  int64_t pixels() const { return batch * out_height * out_width; }
  bool is_pointwise() const {
    return kernel_h == 1 && kernel_w == 1 && stride_h == 1 && stride_w == 1 && top == 0 && left == 0 &&
           out_height == height && out_width == width;
  }
  Window window() const { return {kernel_h, kernel_w, stride_h, stride_w, top, left, dilation_h, dilation_w}; }
  microkernels::Image input() const { return image(height, width, channels()); }
  microkernels::Image output() const { return image(out_height, out_width, out_channels()); }
  microkernels::Image image(int64_t h, int64_t w, int64_t c) const {
    return {nullptr, {batch, h, w, c}, {h * w * c, w * c, c, 1}};
  }
};

// Returns the convolution of a node for the current shapes of operands[values].
Conv conv_of(const Node& node, const Operand* operands);

// Sets the activation of an epilogue. Returns false if the microkernels do not support the activation.
bool set_activation(Kind kind, float number, microkernels::Epilogue* epilogue);

// A step of a float32 convolution or product.
class F32Step : public ThreadedStep {
 public:
  using ThreadedStep::ThreadedStep;
  bool reads(uint32_t input) const override { return input == 0 || input == Node::kResidual; }
  Error setup(const Operand* operands, void* scratch, pthreadpool*) override;

 protected:
  microkernels::Epilogue epilogue() const {
    microkernels::Epilogue e;
    e.clamps = node_.has_bounds;
    e.low = node_.min;
    e.high = node_.max;
    if (node_.activation != Kind::NONE) set_activation(node_.activation, node_.number, &e);
    return e;
  }
  bool has_residual() const { return node_.num_inputs > Node::kResidual; }

  Conv conv_{};
  const float* in_ = nullptr;
  const float* residual_ = nullptr;
  float* out_ = nullptr;
  float* scratch_ = nullptr;
};

// Whether make_depthwise_step() supports a convolution.
bool supports_depthwise(const Node& node);

// Each function makes one kind of step, or sets `*step` to null if this kind of step does not support the node.
Error make_gemm_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                     MemoryAllocator& allocator, Step** step);
Error make_winograd_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                         MemoryAllocator& allocator, Step** step);
Error make_depthwise_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                          MemoryAllocator& allocator, Step** step);

// Makes the step of a mean over height and width.
Error make_mean_step(const Graph& graph, const Node& node, size_t threads, MemoryAllocator& allocator, Step** step);

// Whether make_f32_step() supports a convolution or matrix product. All its steps can apply an activation; all except
// depthwise convolutions can add a residual.
bool supports_f32(const Graph& graph, const Node& node);

// Returns the key of a node's packed weights and bias. `algorithm` is the first number of the key's layout.
PackingKey packing_key(const Graph& graph, const Node& node, uint64_t algorithm);

}  // namespace rushlight::xnnpack
