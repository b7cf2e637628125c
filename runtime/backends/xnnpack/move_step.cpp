#include <cstring>

#include "backends/xnnpack/convert.h"
#include "backends/xnnpack/step.h"

namespace rushlight::xnnpack {
namespace {

// A copy from one strided array to another. Strides are in elements. The last axis is the innermost axis.
struct Copy {
  uint8_t* to = nullptr;
  const uint8_t* from = nullptr;
  uint32_t rank = 0;
  int64_t sizes[kMaxRank];
  int64_t to_strides[kMaxRank];
  int64_t from_strides[kMaxRank];
};

void dense_strides(const Shape& shape, int64_t* strides) {
  int64_t step = 1;
  for (uint32_t i = shape.rank; i-- > 0;) {
    strides[i] = step;
    step *= shape.dims[i];
  }
}

// Merges axes that are contiguous in both arrays; at least one axis remains.
void simplify(Copy* copy) {
  uint32_t kept = 0;
  for (uint32_t axis = 0; axis < copy->rank; ++axis) {
    if (copy->sizes[axis] == 1 && kept + (copy->rank - axis) > 1) continue;
    const bool is_merged = kept > 0 && copy->to_strides[kept - 1] == copy->to_strides[axis] * copy->sizes[axis] &&
                           copy->from_strides[kept - 1] == copy->from_strides[axis] * copy->sizes[axis];
    if (is_merged) {
      copy->sizes[kept - 1] *= copy->sizes[axis];
      --kept;
    } else {
      copy->sizes[kept] = copy->sizes[axis];
    }
    copy->to_strides[kept] = copy->to_strides[axis];
    copy->from_strides[kept] = copy->from_strides[axis];
    ++kept;
  }
  copy->rank = kept;
}

constexpr int64_t kTile = 16;

// Transposes a [rows, columns] block. Consecutive rows of `from` are adjacent elements.
template <typename T>
void transpose(T* to, const T* from, int64_t rows, int64_t columns, int64_t to_row, int64_t from_column) {
  for (int64_t top = 0; top < rows; top += kTile) {
    const int64_t bottom = top + kTile < rows ? top + kTile : rows;
    for (int64_t left = 0; left < columns; left += kTile) {
      const int64_t right = left + kTile < columns ? left + kTile : columns;
      for (int64_t row = top; row < bottom; ++row) {
        for (int64_t column = left; column < right; ++column)
          to[row * to_row + column] = from[row + column * from_column];
      }
    }
  }
}

template <typename T>
void copy_axes(const Copy& copy, uint32_t axis, T* to, const T* from) {
  const uint32_t left = copy.rank - axis;
  const int64_t size = copy.sizes[axis];
  if (left == 1 || axis + 1 == kMaxRank) {  // the comparison with kMaxRank shows GCC that `axis` is in range
    if (copy.from_strides[axis] == 1 && copy.to_strides[axis] == 1) {
      std::memmove(to, from, static_cast<size_t>(size) * sizeof(T));  // the arrays may overlap in a damaged program
    } else {
      for (int64_t i = 0; i < size; ++i) to[i * copy.to_strides[axis]] = from[i * copy.from_strides[axis]];
    }
    return;
  }
  if (left == 2 && copy.from_strides[axis] == 1 && copy.to_strides[axis + 1] == 1) {
    transpose(to, from, size, copy.sizes[axis + 1], copy.to_strides[axis], copy.from_strides[axis + 1]);
    return;
  }
  for (int64_t i = 0; i < size; ++i) {
    copy_axes(copy, axis + 1, to + i * copy.to_strides[axis], from + i * copy.from_strides[axis]);
  }
}

template <typename T>
void run_copy(KernelRuntimeContext& context, const Copy& copy) {
  int64_t count = 1;
  for (uint32_t i = 0; i < copy.rank; ++i) count *= copy.sizes[i];
  // The work is divided among threads along the longer of the two outermost axes.
  const uint32_t axis = copy.rank > 1 && copy.sizes[1] > copy.sizes[0] ? 1 : 0;
  const int64_t inner = count / copy.sizes[axis];
  constexpr int64_t kGrain = 1 << 14;  // elements
  const int64_t grain = inner >= kGrain ? 1 : kGrain / inner;
  context.parallel_for(0, copy.sizes[axis], grain, [&copy, axis](int64_t begin, int64_t end) {
    Copy part = copy;
    part.sizes[axis] = end - begin;
    copy_axes(part, 0, reinterpret_cast<T*>(copy.to) + begin * copy.to_strides[axis],
              reinterpret_cast<const T*>(copy.from) + begin * copy.from_strides[axis]);
  });
}

class MoveStep final : public Step {
 public:
  using Step::Step;

  Error setup(const Operand* operands, void*, pthreadpool*) override {
    const Operand& out = operands[node_.output];
    out_ = out;
    in_ = operands[node_.inputs[0]];
    num_copies_ = 0;
    int64_t offset = 0;
    for (uint32_t i = 0; i < node_.num_inputs; ++i) {
      const Operand& in = operands[node_.inputs[i]];
      RL_REQUIRE(in.dtype == out.dtype || node_.kind == Kind::XNNConvert, InvalidProgram,
                 "the input and the result of a %s have different dtypes", name_of(node_.kind));
      if (in.numel() == 0) continue;
      Copy& copy = copies_[num_copies_++];
      set(in, out, &copy);
      if (joins_inputs()) {
        copy.to += static_cast<size_t>(offset * copy.to_strides[node_.axis]) * element_size(out.dtype);
        offset += in.shape.dims[node_.axis];
      }
      simplify(&copy);
    }
    return Error::Ok;
  }

  Error run(KernelRuntimeContext& context) override {
    if (in_.dtype != out_.dtype) {
      convert();
      return Error::Ok;
    }
    for (uint32_t i = 0; i < num_copies_; ++i) {
      if (element_size(out_.dtype) == 4) {
        run_copy<uint32_t>(context, copies_[i]);
      } else if (element_size(out_.dtype) == 1) {
        run_copy<uint8_t>(context, copies_[i]);
      } else {
        run_copy<uint16_t>(context, copies_[i]);
      }
    }
    return Error::Ok;
  }

 private:
  bool joins_inputs() const { return node_.num_inputs > 1; }

  void set(const Operand& in, const Operand& out, Copy* copy) const {
    copy->to = static_cast<uint8_t*>(out.data);
    copy->from = static_cast<const uint8_t*>(in.data);
    int64_t in_strides[kMaxRank];
    dense_strides(in.shape, in_strides);
    if (node_.kind == Kind::XNNStaticReshape || in.shape.rank == 0) {
      copy->rank = 1;
      copy->sizes[0] = out.numel();
      copy->to_strides[0] = copy->from_strides[0] = 1;
      return;
    }
    copy->rank = in.shape.rank;
    dense_strides(out.shape, copy->to_strides);
    const bool is_slice = node_.kind == Kind::XNNStaticSlice;
    int64_t skipped = 0;
    for (uint32_t i = 0; i < copy->rank; ++i) {
      const uint32_t axis = node_.kind == Kind::XNNStaticTranspose ? node_.first[i] : i;
      copy->sizes[i] = is_slice ? out.shape.dims[i] : in.shape.dims[axis];
      copy->from_strides[i] = in_strides[axis];
      if (is_slice) skipped += node_.first[i] * in_strides[i];
    }
    copy->from += static_cast<size_t>(skipped) * element_size(in.dtype);
  }

  // Converts elements directly if one dtype is Float. Otherwise converts up to 256 elements at a time to floats, and
  // these to the dtype of the result.
  void convert() const {
    const int64_t count = out_.numel();
    float block[256];
    const uint8_t* from = static_cast<const uint8_t*>(in_.data);
    uint8_t* to = static_cast<uint8_t*>(out_.data);
    for (int64_t done = 0; done < count; done += 256) {
      const int64_t size = count - done < 256 ? count - done : 256;
      to_float(in_.dtype, from + static_cast<size_t>(done) * element_size(in_.dtype), size, block);
      from_float(out_.dtype, block, size, to + static_cast<size_t>(done) * element_size(out_.dtype));
    }
  }

  Operand in_, out_;
  uint32_t num_copies_ = 0;
  Copy copies_[5];
};

}  // namespace

Result<Step*> make_move_step(const Node& node, MemoryAllocator& allocator) {
  switch (node.kind) {
    case Kind::XNNStaticTranspose:
    case Kind::XNNStaticReshape:
    case Kind::XNNStaticSlice:
    case Kind::XNNConcatenate2:
    case Kind::XNNConcatenate3:
    case Kind::XNNConcatenate4:
    case Kind::XNNConcatenate5:
    case Kind::XNNCopy:
    case Kind::XNNConvert:
      break;
    default:
      return static_cast<Step*>(nullptr);
  }
  void* memory = allocator.allocate(sizeof(MoveStep), alignof(MoveStep));
  RL_REQUIRE(memory != nullptr, MemoryAllocationFailed, "no memory for a step");
  return static_cast<Step*>(new (memory) MoveStep(node));
}

}  // namespace rushlight::xnnpack
