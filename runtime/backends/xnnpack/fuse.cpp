#include "backends/xnnpack/fuse.h"

#include "core/make_array.h"
#if defined(RUSHLIGHT_HAS_MICROKERNELS)
#include "backends/xnnpack/f32_step.h"
#endif

namespace rushlight::xnnpack {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  const uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
  return x ^ (x >> 32);
}

// Returns a code of the function that maps an input length to the number of window positions. Equal codes and equal
// lengths give equal numbers of positions. Code 0: the number of positions equals the length.
uint64_t window_code(uint32_t before, uint32_t after, uint32_t size, uint32_t dilation, uint32_t stride) {
  const int64_t added = int64_t{before} + after - int64_t{size - 1} * dilation;
  return stride == 1 && added == 0 ? 0 : mix(static_cast<uint64_t>(added), stride);
}

bool supports_bounds(Kind kind) {
  switch (kind) {
    case Kind::XNNAdd:
    case Kind::XNNSubtract:
    case Kind::XNNMultiply:
    case Kind::XNNDiv:
    case Kind::XNNConv2d:
    case Kind::XNNDepthwiseConv2d:
    case Kind::XNNConvTranspose2d:
    case Kind::XNNFullyConnected:
    case Kind::XNNAvgPooling2d:
    case Kind::XNNMaxPooling2d:
    case Kind::XNNGlobalAvgPooling2d:
      return true;
    default:
      return false;
  }
}

class Fusion {
 public:
  Fusion(Graph& graph, const Shape* shapes, const Options& options)
      : graph_(graph), shapes_(shapes), options_(options) {}

  Error run(MemoryAllocator& allocator) {
    const size_t values = graph_.values.size();
    readers_ = make_array<uint32_t>(allocator, values);
    producers_ = make_array<Node*>(allocator, values);
    shape_codes_ = make_array<uint64_t>(allocator, values);
    RL_REQUIRE(readers_ && producers_ && shape_codes_, MemoryAllocationFailed, "no memory for %zu values", values);
    for (const Node& node : graph_.nodes) {
      for (uint32_t i = 0; i < node.num_inputs; ++i) {
        if (node.inputs[i] != kNone) ++readers_[node.inputs[i]];
      }
    }
    for (size_t i = 0; i < values; ++i) {
      if (graph_.values[i].is_output) ++readers_[i];
      shape_codes_[i] = mix(1, i);
    }
    Node* end = graph_.nodes.data();
    for (Node& node : graph_.nodes) {
      shape_codes_[node.output] = shape_code_of(node);
      if (fold_into_producer(node)) continue;
      Node added;
      if (add_to_producer(node, &added)) node = added;
      producers_[node.output] = &node;
    }
    for (Node& node : graph_.nodes) {
      if (node.kind == Kind::NONE) continue;
      if (end != &node) *end = node;
      ++end;
    }
    graph_.nodes = {graph_.nodes.data(), static_cast<size_t>(end - graph_.nodes.data())};
    return Error::Ok;
  }

 private:
  // Returns a code for the shape of a node's result. Values with equal codes have equal dimensions, except the last
  // one, for all sizes of the inputs.
  uint64_t shape_code_of(const Node& node) const {
    const uint64_t in = shape_codes_[node.inputs[0]], other = mix(2, node.output);
    const PayloadWindow& w = node.window;
    switch (node.kind) {
      case Kind::XNNConv2d:
      case Kind::XNNDepthwiseConv2d:
      case Kind::XNNAvgPooling2d:
      case Kind::XNNMaxPooling2d: {
        const uint64_t rows = window_code(w.top, w.bottom, w.height, w.dilation_height, w.stride_height);
        const uint64_t columns = window_code(w.left, w.right, w.width, w.dilation_width, w.stride_width);
        return rows == 0 && columns == 0 ? in : mix(in, mix(rows, columns));
      }
      case Kind::XNNAdd:
      case Kind::XNNSubtract:
      case Kind::XNNMultiply:
      case Kind::XNNDiv:
        return in == shape_codes_[node.inputs[1]] && shapes_[node.inputs[0]] == shapes_[node.inputs[1]] ? in : other;
      case Kind::XNNFullyConnected:
      case Kind::XNNClamp:
      case Kind::XNNHardswish:
      case Kind::XNNSigmoid:
      case Kind::XNNTanh:
      case Kind::XNNGelu:
      case Kind::XNNELU:
      case Kind::XNNLeakyReLU:
      case Kind::XNNPReLU:
      case Kind::XNNSoftmax:
        return in;
      default:
        return other;
    }
  }

  // Returns the node that computes value `id`, if no other node reads this value and it has the dtype of value
  // `result`; else null.
  Node* sole_producer(uint32_t id, uint32_t result) const {
    const Value &a = graph_.values[id], &b = graph_.values[result];
    const bool is_float = a.dtype == b.dtype && !is_quantized(a) && !is_quantized(b);
    return is_float && readers_[id] == 1 ? producers_[id] : nullptr;
  }

  bool fold_into_producer(Node& node) {
    Node* before = node.num_inputs == 1 ? sole_producer(node.inputs[0], node.output) : nullptr;
    if (before == nullptr || before->activation != Kind::NONE) return false;
    if (node.kind == Kind::XNNClamp) {
      if (!node.has_bounds || before->has_bounds || !supports_bounds(before->kind)) return false;
      before->has_bounds = true;
      before->min = node.min;
      before->max = node.max;
    } else {
      if (node.has_bounds || !is_activation(node.kind) || !is_f32_step(*before)) return false;
      before->activation = node.kind;
      before->number = node.number;
    }
    before->output = node.output;
    fold_handle(node, before);
    producers_[node.output] = before;
    node.kind = Kind::NONE;
    return true;
  }

  static void fold_handle(const Node& node, Node* into) {
    if (into->num_folded < Node::kMaxFolded) into->folded[into->num_folded++] = node.debug_handle;
  }

  // The fused node replaces the addition and not the product, because the residual may be computed after the product.
  bool add_to_producer(const Node& node, Node* added) {
    if (node.kind != Kind::XNNAdd) return false;
    Node* best = nullptr;
    uint32_t other = kNone;
    for (uint32_t i = 0; i < 2; ++i) {
      Node* before = sole_producer(node.inputs[i], node.output);
      const uint32_t residual = node.inputs[1 - i];
      if (before == nullptr || before->has_bounds || before->activation != Kind::NONE || before->num_inputs != 3 ||
          !supports_residual(*before) || graph_.values[residual].dtype != ScalarType::Float ||
          shape_codes_[residual] != shape_codes_[before->output] || shapes_[residual] != shapes_[before->output]) {
        continue;
      }
      if (best && best > before) continue;
      best = before;
      other = residual;
    }
    if (best == nullptr) return false;
    *added = *best;
    added->inputs[Node::kResidual] = other;
    added->num_inputs = Node::kResidual + 1;
    added->has_bounds = node.has_bounds;
    added->min = node.min;
    added->max = node.max;
    added->output = node.output;
    fold_handle(node, added);
    best->kind = Kind::NONE;
    return true;
  }

#if defined(RUSHLIGHT_HAS_MICROKERNELS)
  static bool is_activation(Kind kind) {
    microkernels::Epilogue e;
    return set_activation(kind, 0, &e);
  }
  bool is_f32_step(const Node& node) const { return options_.microkernels && supports_f32(graph_, node); }
  // Whether the step of a node can add a residual. Depthwise convolutions cannot.
  bool supports_residual(const Node& node) const {
    return is_f32_step(node) && (node.kind == Kind::XNNFullyConnected || !supports_depthwise(node));
  }
#else
  static bool is_activation(Kind) { return false; }
  bool is_f32_step(const Node&) const { return false; }
  bool supports_residual(const Node&) const { return false; }
#endif

  Graph& graph_;
  const Shape* shapes_;
  const Options& options_;
  uint32_t* readers_ = nullptr;      // [values], number of reading nodes, plus 1 for an output
  Node** producers_ = nullptr;       // [values]
  uint64_t* shape_codes_ = nullptr;  // [values]
};

}  // namespace

Error fuse(Graph* graph, const Shape* shapes, const Options& options, MemoryAllocator& allocator) {
  return Fusion(*graph, shapes, options).run(allocator);
}

}  // namespace rushlight::xnnpack
