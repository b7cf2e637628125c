#pragma once

#include "backends/xnnpack/graph.h"
#include "rushlight/core/kernel.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

struct pthreadpool;

namespace rushlight::xnnpack {

// A value of the graph in a run.
struct Operand {
  Shape shape;
  void* data = nullptr;
  ScalarType dtype = ScalarType::Float;
  uint32_t row_dims = 0;  // of values with scales by row: the dimensions that make a row

  int64_t numel() const { return shape.numel(); }
  size_t nbytes() const {
    const size_t numbers = static_cast<size_t>(shape.numel()) * element_size(dtype);
    return row_dims == 0 ? numbers : aligned(numbers) + static_cast<size_t>(rows()) * 2 * sizeof(float);
  }

  // Of values with scales by row: behind the numbers are [rows] scales and [rows] zero points.
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

// Runs one node.
class Step {
 public:
  explicit Step(const Node& node) : node_(node) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;

  const Node& node() const { return node_; }
  // Returns the bytes of scratch memory, aligned to 64 bytes, that setup() is given and run() may use.
  virtual size_t scratch_bytes(const Operand*) const { return 0; }
  // Takes note of shapes and addresses of operands[values]; called before the first run and when one changed.
  virtual Error setup(const Operand* operands, void* scratch, pthreadpool* threads) = 0;
  virtual Error run(KernelRuntimeContext& context) = 0;
  // Whether input `input` is read after the step was made. The memory of other constants may be released.
  virtual bool reads(uint32_t) const { return true; }
  // Whether up to 16 bytes behind an input may be read, though not used.
  virtual bool reads_beyond() const { return false; }

 protected:
  const Node& node_;
};

struct Options {
  bool own_kernels = false;         // nothing that a kernel of ours can do is left to XNNPACK
  bool microkernels = true;         // convolutions and products run on microkernels, and all quantized nodes that can
  bool exact = false;               // no algorithm that changes the order of magnitude of rounding errors
  Span<const KernelTable> kernels;  // for what XNNPACK lacks, searched in order
};

// Makes the step that suits the node best; it uses at most `threads` threads.
Result<Step*> make_step(const Graph& graph, const Node& node, const Operand* operands, const Options& options,
                        size_t threads, MemoryAllocator& allocator);

// Makes a step that calls an operator of XNNPACK. Returns NotSupported if the linked library has none, or if the build
// has no XNNPACK.
Result<Step*> make_library_step(const Graph& graph, const Node& node, const Operand* operands,
                                MemoryAllocator& allocator);
// Whether XNNPACK runs on this processor; true in a build without it.
bool initialize_library();
// Makes a step on microkernels: convolutions and products of float32 with constant weights, and means of float32. Sets
// `*step` to null if none suits; `is_exact` rules out algorithms that change the order of magnitude of rounding errors.
Error make_f32_step(const Graph& graph, const Node& node, const Operand* operands, bool is_exact, size_t threads,
                    MemoryAllocator& allocator, Step** step);
// Makes a step that computes with int8 numbers, or sets `*step` to null if none suits a quantized node.
Error make_int8_step(const Graph& graph, const Node& node, const Operand* operands, size_t threads,
                     MemoryAllocator& allocator, Step** step);
// Makes a step that converts between float and quantized values of any kind.
Result<Step*> make_requantize_step(const Graph& graph, const Node& node, MemoryAllocator& allocator);
// Makes a step that dequantizes the inputs, runs the step of the float node, and quantizes the result.
Result<Step*> make_dequantize_fallback_step(const Graph& graph, const Node& node, const Operand* operands,
                                            const Options& options, size_t threads, MemoryAllocator& allocator);
// Makes a step that moves elements: transposes, slices, concatenations, copies, conversions. Returns null for other
// kinds.
Result<Step*> make_move_step(const Node& node, MemoryAllocator& allocator);
// Makes a step that calls kernels of the tables. It takes all kinds except those of make_move_step().
Result<Step*> make_kernel_step(const Graph& graph, const Node& node, Span<const KernelTable> kernels,
                               MemoryAllocator& allocator);
// Makes a step that computes one result after the other, for nodes that nothing else takes.
Result<Step*> make_scalar_step(const Graph& graph, const Node& node, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
