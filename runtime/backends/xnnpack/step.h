#pragma once

#include "backends/xnnpack/graph.h"
#include "rushlight/core/kernel.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

struct pthreadpool;

namespace rushlight::xnnpack {

// The shape and memory of a value in the current call.
struct Operand {
  Shape shape;
  void* data = nullptr;
  ScalarType dtype = ScalarType::Float;
  uint32_t row_dims = 0;  // for values with scales per row: number of last dimensions that form a row

  int64_t numel() const { return shape.numel(); }
  size_t nbytes() const {
    const size_t numbers = static_cast<size_t>(shape.numel()) * element_size(dtype);
    return row_dims == 0 ? numbers : aligned(numbers) + static_cast<size_t>(rows()) * 2 * sizeof(float);
  }

  // For values with scales per row: the memory contains the numbers, then [rows] scales, then [rows] zero points.
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
  // Returns the bytes of scratch memory that run() needs. setup() gets this memory, aligned to 64 bytes.
  virtual size_t scratch_bytes(const Operand*) const { return 0; }
  // Stores the shapes and addresses of operands[values]. It is called before the first run and whenever shapes or
  // addresses change.
  virtual Error setup(const Operand* operands, void* scratch, pthreadpool* threads) = 0;
  virtual Error run(KernelRuntimeContext& context) = 0;
  // Whether run() reads input `input`. If no step reads a constant, its memory may be freed.
  virtual bool reads(uint32_t) const { return true; }
  // Whether the step may read up to 16 bytes after the end of an input. They do not change the result.
  virtual bool reads_past_end() const { return false; }

 protected:
  const Node& node_;
};

struct Options {
  bool own_kernels = false;  // prefer Rushlight's kernels to XNNPACK's operators if both exist
  bool microkernels = true;  // use microkernels for convolutions, matrix products and quantized nodes if possible
  bool exact = false;        // use no algorithm with larger rounding errors than direct sums
  Span<const KernelTable> kernels;  // kernels for nodes without an XNNPACK operator, searched in order
};

// Makes the best step for the node. The step uses at most `threads` threads.
Result<Step*> make_step(const Graph& graph, const Node& node, const Operand* operands, const Options& options,
                        size_t threads, MemoryAllocator& allocator);

// Makes a step that calls an operator of XNNPACK. Returns NotSupported if the linked library has no such operator, or
// if the build has no XNNPACK.
Result<Step*> make_library_step(const Graph& graph, const Node& node, const Operand* operands,
                                MemoryAllocator& allocator);
// Initializes XNNPACK. Returns false if XNNPACK does not support this processor. Returns true in a build without
// XNNPACK.
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
// Makes a step that only copies or converts elements: transposes, slices, concatenations, copies, conversions. Returns
// null for other kinds of nodes.
Result<Step*> make_move_step(const Node& node, MemoryAllocator& allocator);
// Makes a step that calls kernels of the tables. It supports all kinds except those of make_move_step().
Result<Step*> make_kernel_step(const Graph& graph, const Node& node, Span<const KernelTable> kernels,
                               MemoryAllocator& allocator);
// Makes a slow step that computes one result element after the other, for nodes without any other step.
Result<Step*> make_scalar_step(const Graph& graph, const Node& node, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
