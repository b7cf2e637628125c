#pragma once

#include "backends/cpu/schema_generated.h"
#include "backends/cpu/view.h"
#include "core/rounding.h"
#include "microkernels/gemm/block.h"
#include "microkernels/gemm/f32_panels.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/f32_packed.h"
#include "microkernels/workers.h"
#include "rushlight/core/kernel_context.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/result.h"
#include "rushlight/core/span.h"

namespace rushlight::cpu {

using microkernels::for_workers;
using microkernels::Packing;
using microkernels::packing_of;

inline bool is_f16(ScalarType dtype) { return dtype == ScalarType::Half || dtype == ScalarType::BFloat16; }
inline microkernels::F16Type f16_type(ScalarType dtype) {
  return dtype == ScalarType::Half ? microkernels::F16Type::Float16 : microkernels::F16Type::BFloat16;
}

// What a step may use while it runs.
struct Run {
  KernelRuntimeContext& context;
  int64_t workers;
  float* scratch;                   // scratch_floats() floats, aligned to 64 bytes
  microkernels::FirstWeights next;  // weights that one of the next steps reads first; run() may prefetch them
};

// One step of a plan. It keeps pointers to the views of its operands; the executor updates the sizes and addresses of
// the views.
class Step {
 public:
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Validates the shapes of the views and computes what depends on them. It is called before the first run and after
  // each change of a shape.
  virtual Error prepare() = 0;
  // Returns the scratch memory of run(), in floats, for this number of workers and the shapes of the last prepare().
  virtual size_t scratch_floats(int64_t) const { return 0; }
  virtual Error run(Run& run) = 0;
  // Returns the weights that run() reads first, for the shapes of the last prepare().
  virtual microkernels::FirstWeights first_weights(int64_t) const { return {}; }
  virtual const char* name() const = 0;
  // Whether the step supports this operand if its int8 numbers are stored as uint8 (number + 128); see View::sign_mask.
  virtual bool supports_unsigned(const View&) const { return false; }
  // Returns the number of multiplications and additions of one run.
  virtual int64_t work() const { return 0; }

  uint32_t debug_handle = 0;

 protected:
  ~Step() = default;
};

using flatbuffer::Operand;

// Finds the operands of one operation and checks them. After an error, the functions return null, and error() returns
// the first error. Its message contains the operation and the field.
class Binder {
 public:
  // A value of the plan: its view, and what steps may do with its memory.
  struct Slot {
    View view;
    bool is_constant = false;
    bool is_writable = false;
    bool is_arena = false;  // the bytes after the storage can be read
  };

  // `kernels` are the float32 microkernels of this machine, and `planned` is the packing of the plan's weights.
  Binder(const char* operation, Span<Slot> slots, const microkernels::F32Microkernels& kernels, const Packing& planned,
         MemoryAllocator& allocator)
      : operation_(operation), slots_(slots), kernels_(kernels), planned_(planned), allocator_(allocator) {}

  // The float32 microkernels of this machine.
  const microkernels::F32Microkernels& kernels() const { return kernels_; }
  MemoryAllocator& allocator() const { return allocator_; }
  Error error() const { return error_; }

  // Return float32 views. They return null and keep the error if the operand is missing or has another dtype.
  const View* input(Operand operand);
  const View* optional_input(Operand operand);
  const View* output(Operand operand);
  // Return views of any dtype except float16 and bfloat16.
  const View* any_input(Operand operand);
  const View* any_output(Operand operand);
  // Return views of the given dtype.
  const View* input_of(Operand operand, ScalarType dtype);
  const View* output_of(Operand operand, ScalarType dtype);
  bool is_arena(Operand operand) { return slot(operand) != nullptr && slot(operand)->is_arena; }
  // Returns a view of any dtype.
  const View* stored_input(Operand operand);
  // Return `count` contiguous floats of a constant. float16 and bfloat16 constants are converted to float32 at load.
  const float* constant(Operand operand, int64_t count);
  const float* optional_constant(Operand operand, int64_t count);
  // Returns a constant of `count` floats, followed by zeros up to `read` floats, or null if there is none.
  const float* padded_constant(Operand operand, int64_t count, int64_t read);
  // Returns the bias [groups, outputs] of packed matrices, or null if there is none. The numbers of each group can be
  // read in whole vectors, also after the end of the last group.
  const float* packed_bias(Operand operand, int64_t groups, int64_t outputs);
  // Returns `matrices` packed float32 matrices [k, n], one after the other. They are packed again if the packing of
  // this machine differs from that of the plan.
  const float* packed_f32(Operand operand, int64_t matrices, int64_t k, int64_t n);
  // Returns the packed float32 matrices of a Winograd transform in the same way: for each of its points i, `groups`
  // matrices [terms[i] * k, n].
  const float* packed_points(Operand operand, int64_t points, const int64_t* terms, int64_t groups, int64_t k,
                             int64_t n);
  // Like packed_f32(), but returns 16-bit floats without converting them to float32. After an error, returns no weights
  // and keeps the error.
  microkernels::PackedWeights packed_weights(Operand operand, int64_t matrices, int64_t k, int64_t n);
  // Returns a packed matrix of int16 blocks, in the plan's packing.
  microkernels::BlockMatrix block_matrix(Operand operand, int64_t blocks, int64_t k, int64_t n);
  // Converts a matrix to float32 in the packing of this machine. Returns null and keeps the error if there is no
  // memory.
  const float* to_float32(const microkernels::BlockMatrix& matrix);
  // Whether the plan has the same packing as this machine.
  bool packs_as_planned() const;
  // Returns an epilogue without its residual.
  microkernels::Epilogue epilogue(const schema::Epilogue& epilogue);
  // Whether the build contains a function. Some functions may be missing in a selective build; then returns false and
  // keeps the error.
  bool has_function(schema::UnaryFunction function);
  // Returns `count` contiguous int8 numbers of a constant.
  const int8_t* int8_constant(Operand operand, int64_t count);
  // Returns packed int8 matrices with n columns of k numbers each, packed_matrix_size() bytes apart, in the packing of
  // microkernels::int8_microkernels(). They are packed again if the plan has another packing.
  const uint8_t* packed_int8(Operand operand, const schema::Int8Packing& packing, int64_t matrices, int64_t k,
                             int64_t n);

  template <typename T, typename... Args>
  T* make(Args... args) {
    void* memory = allocator_.allocate(sizeof(T), alignof(T));
    if (memory == nullptr) {
      refuse(fail(Error::MemoryAllocationFailed, "no memory for a step"));
      return nullptr;
    }
    return new (memory) T(args...);
  }
  // Makes a step of type T and binds it to an operation.
  template <typename T, typename Operation, typename... Args>
  Result<Step*> bind(const Operation& op, Args... args) {
    T* const step = make<T>(args...);
    if (step) RL_TRY(step->bind(op, *this));
    RL_TRY(error_);
    return static_cast<Step*>(step);
  }
  template <typename T>
  T* array(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) count = SIZE_MAX / sizeof(T);
    T* items = static_cast<T*>(allocator_.allocate(count * sizeof(T), 64));
    if (items == nullptr) refuse(fail(Error::MemoryAllocationFailed, "no memory for %zu bytes", count * sizeof(T)));
    return items;
  }

 private:
  const Slot* slot(Operand operand);
  const View* written(Operand operand);
  // Returns a contiguous one-dimensional constant with `count` or more elements. If `dtype` is Float, it may also be
  // float16 or bfloat16.
  const View* constant_view(Operand operand, int64_t count, ScalarType dtype = ScalarType::Float);
  void refuse(Error error) {
    if (error_ == Error::Ok) error_ = error;
  }

  const char* const operation_;
  Span<Slot> slots_;
  const microkernels::F32Microkernels& kernels_;
  const Packing& planned_;
  MemoryAllocator& allocator_;
  Error error_ = Error::Ok;
};

// make_step() for each operation of the schema. Each file in steps/ defines one or more of these functions.
#define RUSHLIGHT_DECLARE_STEP(Name) Result<Step*> make_step(const schema::Name& op, Binder& binder);
RUSHLIGHT_OPERATION_MEMBERS(RUSHLIGHT_DECLARE_STEP)
#undef RUSHLIGHT_DECLARE_STEP

// Makes the step of any operation.
Result<Step*> make_step(const schema::Step& step, Binder& binder);

microkernels::UnaryOp unary_op(schema::UnaryFunction function);
microkernels::BinaryOp binary_op(schema::BinaryFunction function);

}  // namespace rushlight::cpu
