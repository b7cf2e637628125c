#pragma once

#include "backends/xnnpack/graph.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

struct pthreadpool;

namespace rushlight::xnnpack {

// A value of the graph in a run.
struct Operand {
  Shape shape;
  void* data = nullptr;
  ScalarType dtype = ScalarType::Float;

  int64_t numel() const { return shape.numel(); }
  size_t nbytes() const { return static_cast<size_t>(shape.numel()) * element_size(dtype); }
};

// What runs one node.
class Step {
 public:
  explicit Step(const Node& node) : node_(node) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;

  const Node& node() const { return node_; }
  // Bytes of memory, at a multiple of 64, that setup() is given for the time of run().
  virtual size_t scratch_bytes(const Operand*) const { return 0; }
  // Takes note of shapes and addresses of operands[values]; called before the first run and when one changed.
  virtual Error setup(const Operand* operands, void* scratch, pthreadpool* threads) = 0;
  virtual Error run(KernelRuntimeContext& context) = 0;
  // Whether input `input` is read after the step was made; what is not may be given back.
  virtual bool reads(uint32_t) const { return true; }
  // Whether up to 16 bytes behind an input may be read, though not used.
  virtual bool reads_beyond() const { return false; }

 protected:
  const Node& node_;
};

// By XNNPACK's operators. Error::NotSupported if the linked library cannot.
Result<Step*> make_library_step(const Graph& graph, const Node& node, const Operand* operands,
                                MemoryAllocator& allocator);
// By our own tiles: convolutions and products of float32 with constant weights. Null in `*step` if they do not suit;
// `is_exact` rules out algorithms that change the order of magnitude of rounding errors.
Error make_tile_step(const Graph& graph, const Node& node, const Operand* operands, bool is_exact, size_t threads,
                     MemoryAllocator& allocator, Step** step);
// By moving elements: transposes, slices, concatenations, copies, conversions. Null for other kinds.
Result<Step*> make_move_step(const Node& node, MemoryAllocator& allocator);
// By our own kernels, any kind but those that move.
Result<Step*> make_kernel_step(const Graph& graph, const Node& node, MemoryAllocator& allocator);

}  // namespace rushlight::xnnpack
