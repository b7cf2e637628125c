#pragma once

#include "backends/cpu/schema_generated.h"
#include "backends/cpu/view.h"
#include "kernels/optimized/pixels/block_product.h"
#include "kernels/optimized/pixels/panels.h"
#include "kernels/optimized/tiles/packed.h"
#include "kernels/optimized/tiles/tiles.h"
#include "kernels/optimized/workers.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight::cpu {

using optimized::divide_up;
using optimized::for_workers;
using optimized::Packing;
using optimized::packing_of;

// The numbers are the wire format: append only.
enum class StepKind : uint16_t {
  Product = 1,
  Winograd = 2,
  Depthwise = 3,
  Pool = 4,
  Elementwise = 5,
  Copy = 6,
  Reduce = 7,
  Softmax = 8,
  Normalize = 9,
  Attention = 10,
  MatrixProduct = 11,
  Gather = 12,
  Recurrent = 13,
  Combine = 14,
  Select = 15,
  Scatter = 16,
  Bottleneck = 17,
  GroupScales = 18,
  Resample = 19,
  BlockProduct = 20,
  ByteProduct = 32,
  ByteDepthwise = 33,
  BytePool = 34,
  ByteMean = 35,
  ByteBinary = 36,
  ByteMap = 37,
  Quantize = 38,
  Dequantize = 39,
  QuantizeRows = 40,
  ScaledProduct = 41,
  NibbleProduct = 42,
  ScaledGather = 43,
  Convert = 44,
};

inline bool is_half(ScalarType dtype) { return dtype == ScalarType::Half || dtype == ScalarType::BFloat16; }
inline tiles::HalfType half_type(ScalarType dtype) {
  return dtype == ScalarType::Half ? tiles::HalfType::Float16 : tiles::HalfType::BFloat16;
}

// What a step may use while it runs.
struct Run {
  KernelRuntimeContext& context;
  int64_t workers;
  float* scratch;                // scratch_floats() of them, aligned to 64 bytes
  optimized::FirstWeights next;  // of the steps that follow
};

// One step of a plan, bound to views whose sizes and addresses the executor keeps current.
class Step {
 public:
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Checks the views' shapes and takes note of them; called before the first run and when one changed.
  virtual Error prepare() = 0;
  // For the shapes of the last prepare().
  virtual size_t scratch_floats(int64_t) const { return 0; }
  virtual Error run(Run& run) = 0;
  // Of the shapes of the last prepare().
  virtual optimized::FirstWeights first_weights(int64_t) const { return {}; }
  virtual const char* name() const = 0;
  // Whether int8 numbers of this operand may be kept as uint8, each plus 128, as View::flip tells while the step runs.
  virtual bool takes_unsigned(uint32_t) const { return false; }
  // Multiplications and additions, each counted, of a run.
  virtual int64_t work() const { return 0; }

  uint32_t debug_handle = 0;

 protected:
  ~Step() = default;
};

// Reads one step's table. Every getter checks; the first failure is kept.
class Binder {
 public:
  struct Slot {
    View view;
    bool is_constant = false;
    bool is_writable = false;
    bool is_arena = false;  // some bytes behind the storage can be read
  };

  Binder(const schema::Step& step, Span<Slot> slots, const tiles::Tiles& tiles, const Packing& planned,
         MemoryAllocator& allocator)
      : step_(step), slots_(slots), tiles_(tiles), planned_(planned), allocator_(allocator) {}

  const tiles::Tiles& tiles() const { return tiles_; }
  MemoryAllocator& allocator() const { return allocator_; }
  Error error() const { return error_; }
  uint32_t value_count() const { return step_.values().size(); }
  uint32_t int_count() const { return step_.ints().size(); }
  uint32_t float_count() const { return step_.floats().size(); }

  // Whether an operand that may be absent is there.
  bool has(uint32_t index) const;
  // float32 views; null, and the failure kept, if there is none.
  const View* input(uint32_t index);
  const View* optional_input(uint32_t index);
  const View* output(uint32_t index);
  // A view of any type but those of 16 bits.
  const View* any_input(uint32_t index);
  const View* any_output(uint32_t index);
  // Views of one type.
  const View* input_of(uint32_t index, ScalarType dtype);
  const View* output_of(uint32_t index, ScalarType dtype);
  bool is_arena(uint32_t index) { return slot(index) != nullptr && slot(index)->is_arena; }
  // A view of any type.
  const View* stored_input(uint32_t index);
  // `count` floats of a constant, next to each other: those of 16 bits become float32 now.
  const float* constant(uint32_t index, int64_t count);
  const float* optional_constant(uint32_t index, int64_t count);
  // Packed matrices [k, n], or [terms[i] * k, n], in the machine's own packing: repacked if the plan's is another.
  const float* packed(uint32_t index, int64_t matrices, int64_t k, int64_t n, const int64_t* terms = nullptr);
  // The same, floats of 16 bits left as they are. Empty, and the failure kept, if there are none.
  optimized::PackedWeights packed_weights(uint32_t index, int64_t matrices, int64_t k, int64_t n);
  // A packed matrix of int16 blocks, in the plan's packing; their count is the int `first_int`.
  optimized::BlockMatrix block_matrix(uint32_t index, uint32_t first_int, int64_t k, int64_t n);
  // The same as floats in the machine's own packing. Null, and the failure kept, if there is no memory.
  const float* widened(const optimized::BlockMatrix& matrix);
  // Whether plan and machine pack weights alike.
  bool packs_as_planned() const;
  // `count` int8 of a constant, next to each other.
  const int8_t* bytes(uint32_t index, int64_t count);
  // Packed int8 matrices of n columns of k numbers each, in the packing of tiles::byte_tiles(), packed_matrix_size()
  // bytes apart: repacked if the plan's is another, which three ints from `first_int` on tell: lanes, columns of a
  // panel, numbers of a group.
  const uint8_t* packed_bytes(uint32_t index, uint32_t first_int, int64_t matrices, int64_t k, int64_t n);
  // Within [low, high].
  int64_t integer(uint32_t index, int64_t low, int64_t high);
  float number(uint32_t index);
  // activation, unary operator, and floats low, high, p, q: an epilogue without its residual.
  tiles::Epilogue epilogue(uint32_t first_int, uint32_t first_float);

  template <typename T, typename... Args>
  T* make(Args... args) {
    void* memory = allocator_.allocate(sizeof(T), alignof(T));
    if (memory == nullptr) {
      refuse(fail(Error::MemoryAllocationFailed, "no memory for a step"));
      return nullptr;
    }
    return new (memory) T(args...);
  }
  template <typename T>
  T* array(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) count = SIZE_MAX / sizeof(T);
    T* items = static_cast<T*>(allocator_.allocate(count * sizeof(T), 64));
    if (items == nullptr) refuse(fail(Error::MemoryAllocationFailed, "no memory for %zu bytes", count * sizeof(T)));
    return items;
  }

 private:
  const Slot* slot(uint32_t index);
  const View* written(uint32_t index);
  // One of those in which numbers lie next to each other, or of any floats if `dtype` is Float.
  const View* constant_view(uint32_t index, int64_t count, ScalarType dtype = ScalarType::Float);
  void refuse(Error error) {
    if (error_ == Error::Ok) error_ = error;
  }

  const schema::Step& step_;
  Span<Slot> slots_;
  const tiles::Tiles& tiles_;
  const Packing& planned_;
  MemoryAllocator& allocator_;
  Error error_ = Error::Ok;
};

Result<Step*> make_product(Binder& binder);
Result<Step*> make_block_product(Binder& binder);
Result<Step*> make_winograd(Binder& binder);
Result<Step*> make_depthwise(Binder& binder);
Result<Step*> make_pool(Binder& binder);
Result<Step*> make_elementwise(Binder& binder);
Result<Step*> make_copy(Binder& binder);
Result<Step*> make_reduce(Binder& binder);
Result<Step*> make_softmax(Binder& binder);
Result<Step*> make_normalize(Binder& binder);
Result<Step*> make_attention(Binder& binder);
Result<Step*> make_matrix_product(Binder& binder);
Result<Step*> make_gather(Binder& binder);
Result<Step*> make_recurrent(Binder& binder);
Result<Step*> make_combine(Binder& binder);
Result<Step*> make_select(Binder& binder);
Result<Step*> make_scatter(Binder& binder);
Result<Step*> make_bottleneck(Binder& binder);
Result<Step*> make_group_scales(Binder& binder);
Result<Step*> make_resample(Binder& binder);
Result<Step*> make_byte_product(Binder& binder);
Result<Step*> make_byte_depthwise(Binder& binder);
Result<Step*> make_byte_pool(Binder& binder);
Result<Step*> make_byte_mean(Binder& binder);
Result<Step*> make_byte_binary(Binder& binder);
Result<Step*> make_byte_map(Binder& binder);
Result<Step*> make_quantize(Binder& binder);
Result<Step*> make_dequantize(Binder& binder);
Result<Step*> make_quantize_rows(Binder& binder);
Result<Step*> make_scaled_product(Binder& binder);
Result<Step*> make_nibble_product(Binder& binder);
Result<Step*> make_scaled_gather(Binder& binder);
Result<Step*> make_half_conversion(Binder& binder);

// By kind. InvalidProgram for one that is unknown.
Result<Step*> make_step(StepKind kind, Binder& binder);

}  // namespace rushlight::cpu
