// Comparisons, logical operations, integer arithmetic and selection between two tensors, as used for masks and indices.
#include <cstring>
#include <type_traits>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"
#include "microkernels/tables/f32.h"
#include "microkernels/tables/integer.h"

namespace rushlight::cpu {

namespace {

using schema::Comparison;

template <Comparison Op, typename T>
auto combined(T a, T b) {
  using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  if constexpr (Op == Comparison::EQUAL) return static_cast<uint8_t>(a == b);
  if constexpr (Op == Comparison::NOT_EQUAL) return static_cast<uint8_t>(a != b);
  if constexpr (Op == Comparison::LESS) return static_cast<uint8_t>(a < b);
  if constexpr (Op == Comparison::LESS_EQUAL) return static_cast<uint8_t>(a <= b);
  if constexpr (Op == Comparison::GREATER) return static_cast<uint8_t>(a > b);
  if constexpr (Op == Comparison::GREATER_EQUAL) return static_cast<uint8_t>(a >= b);
  if constexpr (Op == Comparison::AND) return static_cast<T>(a & b);
  if constexpr (Op == Comparison::OR) return static_cast<T>(a | b);
  if constexpr (Op == Comparison::XOR) return static_cast<T>(a ^ b);
  // Computed as unsigned, because sums may overflow.
  if constexpr (Op == Comparison::ADD) return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  if constexpr (Op == Comparison::SUB) return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  if constexpr (Op == Comparison::MUL) return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
}

// Applies a bitwise operation to n bytes, eight at a time.
template <Comparison Op>
void combine_bytes(const uint8_t* a, const uint8_t* b, uint8_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t x, y;
    std::memcpy(&x, a + i, sizeof(x));
    std::memcpy(&y, b + i, sizeof(y));
    const uint64_t both = combined<Op>(x, y);
    std::memcpy(to + i, &both, sizeof(both));
  }
  for (; i < n; ++i) to[i] = combined<Op>(a[i], b[i]);
}

template <typename T>
T* at(const View& view, int64_t offset) {
  return static_cast<T*>(view.data) + offset;
}

class CompareStep final : public Step {
 public:
  Error bind(const schema::Compare& op, Binder& binder) {
    op_ = op.comparison();
    views_[1] = binder.any_input(op.a());
    views_[2] = binder.any_input(op.b());
    views_[0] = binder.any_output(op.output());
    RL_TRY(binder.error());
    const ScalarType dtype = views_[1]->dtype;
    // The enum lists comparisons first, then logical operations (from AND on), then arithmetic (from ADD on).
    const bool compares = op_ < Comparison::AND, is_arithmetic = op_ >= Comparison::ADD;
    const bool is_integer = dtype == ScalarType::Long || dtype == ScalarType::Int;
    const bool is_supported = compares || (is_arithmetic ? is_integer : dtype != ScalarType::Float);
    const ScalarType result = compares ? ScalarType::Bool : dtype;
    RL_REQUIRE(is_supported && views_[2]->dtype == dtype && views_[0]->dtype == result, InvalidProgram,
               "the operands of a comparison or integer operation have unsupported dtypes");
    return Error::Ok;
  }

  Error prepare() override {
    RL_REQUIRE(views_[1]->has_sizes_of(*views_[0]) && views_[2]->has_sizes_of(*views_[0]), InvalidProgram,
               "the shapes of the operands of a comparison or integer operation do not match");
    loops_ = make_loops(views_, 3);
    return Error::Ok;
  }

  Error run(Run& run) override {
    if (views_[0]->numel() == 0) return Error::Ok;
    const int64_t workers = views_[0]->numel() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, loops_.outer(), [&](int64_t, int64_t begin, int64_t end) {
      switch (views_[1]->dtype) {
        case ScalarType::Float:
          return run_comparison<float>(begin, end);
        case ScalarType::Long:
          return run_arithmetic<int64_t>(begin, end);
        case ScalarType::Int:
          return run_arithmetic<int32_t>(begin, end);
        default:
          return run_logic<uint8_t>(begin, end);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "comparison"; }

 private:
  // Three functions select the loop for op_: floats are only compared, bools are also combined, and integers are also
  // added, subtracted and multiplied.
  template <typename T>
  void run_comparison(int64_t begin, int64_t end) const {
    switch (op_) {
      case Comparison::EQUAL:
        return apply<Comparison::EQUAL, T>(begin, end);
      case Comparison::NOT_EQUAL:
        return apply<Comparison::NOT_EQUAL, T>(begin, end);
      case Comparison::LESS:
        return apply<Comparison::LESS, T>(begin, end);
      case Comparison::LESS_EQUAL:
        return apply<Comparison::LESS_EQUAL, T>(begin, end);
      case Comparison::GREATER:
        return apply<Comparison::GREATER, T>(begin, end);
      default:
        return apply<Comparison::GREATER_EQUAL, T>(begin, end);
    }
  }

  template <typename T>
  void run_logic(int64_t begin, int64_t end) const {
    switch (op_) {
      case Comparison::AND:
        return apply<Comparison::AND, T>(begin, end);
      case Comparison::OR:
        return apply<Comparison::OR, T>(begin, end);
      case Comparison::XOR:
        return apply<Comparison::XOR, T>(begin, end);
      default:
        return run_comparison<T>(begin, end);
    }
  }

  template <typename T>
  void run_arithmetic(int64_t begin, int64_t end) const {
    switch (op_) {
      case Comparison::ADD:
        return apply<Comparison::ADD, T>(begin, end);
      case Comparison::SUB:
        return apply<Comparison::SUB, T>(begin, end);
      case Comparison::MUL:
        return apply<Comparison::MUL, T>(begin, end);
      default:
        return run_logic<T>(begin, end);
    }
  }

  // Computes rows [begin, end) of the result.
  template <Comparison Op, typename T>
  void apply(int64_t begin, int64_t end) const {
    using Result = decltype(combined<Op, T>(T{}, T{}));
    const int64_t inner = loops_.inner();
    const int64_t to_step = loops_.inner_stride(0), a_step = loops_.inner_stride(1), b_step = loops_.inner_stride(2);
    // What the microkernels support.
    const bool is_line = to_step == 1 && (a_step | b_step) == 1;
    for (int64_t row = begin; row < end; ++row) {
      Result* const to = at<Result>(*views_[0], loops_.row(0, row));
      const T* const a = at<const T>(*views_[1], loops_.row(1, row));
      const T* const b = at<const T>(*views_[2], loops_.row(2, row));
      if (is_line && call_microkernel<Op, T>(a, a_step, b, b_step, to, inner)) continue;
      for (int64_t i = 0; i < inner; ++i) to[i * to_step] = combined<Op, T>(a[i * a_step], b[i * b_step]);
    }
  }

  template <typename T>
  static constexpr microkernels::IntegerType kInteger = sizeof(T) == 8   ? microkernels::IntegerType::Int64
                                                        : sizeof(T) == 4 ? microkernels::IntegerType::Int32
                                                                         : microkernels::IntegerType::UInt8;

  // Computes n adjacent results. Returns false if there is no microkernel for the operation.
  template <Comparison Op, typename T, typename Result>
  static bool call_microkernel(const T* a, int64_t a_step, const T* b, int64_t b_step, Result* to, int64_t n) {
    using microkernels::IntegerOp;
    if constexpr (Op < Comparison::AND) {
      static_assert(static_cast<int>(Comparison::GREATER_EQUAL) ==
                    static_cast<int>(microkernels::CompareOp::GreaterEqual));
      constexpr auto kOp = static_cast<microkernels::CompareOp>(Op);
      if constexpr (std::is_same_v<T, float>) {
        microkernels::f32_microkernels().compare(kOp, a, a_step, b, b_step, to, n);
      } else {
        microkernels::integer_microkernels().compare(kInteger<T>, kOp, a, a_step, b, b_step, to, n);
      }
      return true;
    } else if constexpr (Op >= Comparison::ADD) {
      constexpr IntegerOp kOp = Op == Comparison::ADD   ? IntegerOp::Add
                                : Op == Comparison::SUB ? IntegerOp::Sub
                                                        : IntegerOp::Mul;
      microkernels::integer_microkernels().binary(kInteger<T>, kOp, a, a_step, b, b_step, to, n);
      return true;
    } else {
      if (a_step != b_step) return false;
      combine_bytes<Op>(reinterpret_cast<const uint8_t*>(a), reinterpret_cast<const uint8_t*>(b),
                        reinterpret_cast<uint8_t*>(to), n * static_cast<int64_t>(sizeof(T)));
      return true;
    }
  }

  Comparison op_{};
  const View* views_[3] = {};  // the output, then the inputs
  Loops loops_;
};

class WhereStep final : public Step {
 public:
  Error bind(const schema::Where& op, Binder& binder) {
    views_[1] = binder.any_input(op.condition());
    views_[2] = binder.any_input(op.a());
    views_[3] = binder.any_input(op.b());
    views_[0] = binder.any_output(op.output());
    RL_TRY(binder.error());
    RL_REQUIRE(views_[1]->dtype == ScalarType::Bool && views_[2]->dtype == views_[0]->dtype &&
                   views_[3]->dtype == views_[0]->dtype,
               InvalidProgram, "the operands of a selection (where) have unsupported dtypes");
    return Error::Ok;
  }

  Error prepare() override {
    for (int v = 1; v < 4; ++v) {
      RL_REQUIRE(views_[v]->has_sizes_of(*views_[0]), InvalidProgram,
                 "the shapes of the operands of a selection (where) do not match");
    }
    loops_ = make_loops(views_, 4);
    return Error::Ok;
  }

  Error run(Run& run) override {
    if (views_[0]->numel() == 0) return Error::Ok;
    const int64_t workers = views_[0]->numel() < kSerialWork ? 1 : run.workers;
    for_workers(run.context, workers, loops_.outer(), [&](int64_t, int64_t begin, int64_t end) {
      switch (element_size(views_[0]->dtype)) {
        case 1:
          return select_rows<uint8_t>(begin, end);
        case 4:
          return select_rows<uint32_t>(begin, end);
        default:
          return select_rows<uint64_t>(begin, end);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "where"; }

 private:
  template <typename T>
  void select_rows(int64_t begin, int64_t end) const {
    const int64_t inner = loops_.inner();
    int64_t step[4];
    for (int v = 0; v < 4; ++v) step[v] = loops_.inner_stride(v);
    // What the microkernel supports.
    const bool is_line = step[0] == 1 && (step[1] | step[2] | step[3]) == 1;
    const microkernels::IntegerMicrokernels& kernels = microkernels::integer_microkernels();
    for (int64_t row = begin; row < end; ++row) {
      T* const to = at<T>(*views_[0], loops_.row(0, row));
      const uint8_t* const condition = at<const uint8_t>(*views_[1], loops_.row(1, row));
      const T* const a = at<const T>(*views_[2], loops_.row(2, row));
      const T* const b = at<const T>(*views_[3], loops_.row(3, row));
      if (is_line) {
        kernels.select(sizeof(T), condition, step[1], a, step[2], b, step[3], to, inner);
        continue;
      }
      for (int64_t i = 0; i < inner; ++i) {
        to[i * step[0]] = condition[i * step[1]] != 0 ? a[i * step[2]] : b[i * step[3]];
      }
    }
  }

  const View* views_[4] = {};  // the output, then the inputs
  Loops loops_;
};

}  // namespace

Result<Step*> make_step(const schema::Compare& op, Binder& binder) { return binder.bind<CompareStep>(op); }

Result<Step*> make_step(const schema::Where& op, Binder& binder) { return binder.bind<WhereStep>(op); }

}  // namespace rushlight::cpu
