#pragma once

#include "backends/xnnpack/graph.h"
#include "rushlight/core/kernel.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

struct pthreadpool;

namespace rushlight::xnnpack {

// The shape and memory of a value in the current run.
struct Operand {
  Shape shape;
  void* data = nullptr;
  ScalarType dtype = ScalarType::Float;
  uint32_t row_dims = 0;  // values with scales per row: number of trailing dimensions that form a row

  int64_t numel() const { return shape.numel(); }
  size_t nbytes() const {
    const size_t numbers = static_cast<size_t>(shape.numel()) * element_size(dtype);
    return row_dims == 0 ? numbers : aligned(numbers) + static_cast<size_t>(rows()) * 2 * sizeof(float);
  }

  // Values with scales per row: [rows] scales and [rows] zero points follow the numbers.
  int64_t row_size() const {
    int64_t size = 1;
    for (uint32_t i = 0; i < row_dims; ++i) size *= shape.dims[shape.rank - 1 - i];
    return size;
  }
  int64_t rows() const {
    const int64_t size = row_size();
    return size == 0 ? 0 : shape.numel() / size;
  }
  float* row_scales() const {
    return reinterpret_cast<float*>(static_cast<uint8_t*>(data) + aligned(static_cast<size_t>(shape.numel())));
  }
  int32_t* row_zeros() const { return reinterpret_cast<int32_t*>(row_scales() + rows()); }

 private:
  static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
};

// Runs one node of the graph.
class Step {
 public:
  explicit Step(const Node& node) : node_(node) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;

  const Node& node() const { return node_; }
  // Returns the bytes of scratch memory (aligned to 64) that setup() gets and run() may use.
  virtual size_t scratch_bytes(const Operand*) const { return 0; }
  // Stores shapes and addresses of operands[values]. It is called before the first run and after each change of them.
  virtual Error setup(const Operand* operands, void* scratch, pthreadpool* threads) = 0;
  virtual Error run(KernelRuntimeContext& context) = 0;
  // Whether the step reads input `input` after its construction. If no step reads a constant, its memory may be freed.
  virtual bool reads(uint32_t) const { return true; }
  // Whether the step may read up to 16 bytes after the end of an input, without using them.
  virtual bool reads_beyond() const { return false; }

 protected:
  const Node& node_;
};

struct Options {
  bool own_kernels = false;         // prefer kernels of Rushlight to XNNPACK's operators where both exist
  bool microkernels = true;         // run convolutions, products, and quantized nodes on microkernels where possible
  bool exact = false;               // no algorithm with larger rounding errors than direct sums
  Span<const KernelTable> kernels;  // for nodes that XNNPACK lacks, searched in order
};

// Makes the best step for the node. The step uses at most `threads` threads.
Result<Step*> make_step(const Graph& graph, const Node& node, const Operand* operands, const Options& options,
                        size_t threads, MemoryAllocator& allocator);

// Makes a step that calls an operator of XNNPACK. Returns NotSupported if the linked library lacks the operator, or if
// the build has no XNNPACK.
Result<Step*> make_library_step(const Graph& graph, const Node& node, const Operand* operands,
                                MemoryAllocator& allocator);
// Initializes XNNPACK. Returns false if it does not run on this processor; true in a build without it.
bool initialize_library();
// Makes a step with microkernels: float32 convolutions and products with constant weights, and float32 means. Sets
// `*step` to null if the node has no such step. `is_exact` forbids algorithms with larger rounding errors than direct
// sums.
Error make_f32_step(const Graph& graph, const Node& node, const Operand* operands, bool is_exact, size_t threads,
                    MemoryAllocator& allocator, Step** step);
// Makes a step that computes a quantized node with int8 microkernels, or sets `*step` to null if there is none.
Error make_int8_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                     MemoryAllocator& allocator, Step** step);
// Makes a step that converts between floats and quantized values of all kinds.
Result<Step*> make_requantize_step(const Graph& graph, const Node& node, MemoryAllocator& allocator);
// Makes a step that dequantizes the inputs, runs the step of the float node, and quantizes the result.
Result<Step*> make_dequantize_fallback_step(const Graph& graph, const Node& node, const Operand* operands,
                                            const Options& options, size_t threads, MemoryAllocator& allocator);
// Makes a step that moves elements: transposes, slices, concatenations, copies, conversions. Returns null for other
// kinds.
Result<Step*> make_move_step(const Node& node, MemoryAllocator& allocator);
// Makes a step that calls kernels of the tables. It supports all kinds except the kinds of make_move_step().
Result<Step*> make_kernel_step(const Graph& graph, const Node& node, Span<const KernelTable> kernels,
                               MemoryAllocator& allocator);
// Makes a step that computes one result after the other, for nodes without any other step.
Result<Step*> make_scalar_step(const Graph& graph, const Node& node, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
