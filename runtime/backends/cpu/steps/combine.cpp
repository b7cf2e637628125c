// Comparisons, logic and whole-number arithmetic, and choices between two tensors: what masks and places are made of.
#include <type_traits>

#include "backends/cpu/image.h"
#include "backends/cpu/loops.h"
#include "backends/cpu/step.h"

namespace rushlight::cpu {

namespace {

enum class Combination : int64_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  And,
  Or,
  Xor,
  Add,
  Sub,
  Mul,
};

template <Combination Op, typename T>
auto combined(T a, T b) {
  using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  if constexpr (Op == Combination::Equal) return static_cast<uint8_t>(a == b);
  if constexpr (Op == Combination::NotEqual) return static_cast<uint8_t>(a != b);
  if constexpr (Op == Combination::Less) return static_cast<uint8_t>(a < b);
  if constexpr (Op == Combination::LessEqual) return static_cast<uint8_t>(a <= b);
  if constexpr (Op == Combination::Greater) return static_cast<uint8_t>(a > b);
  if constexpr (Op == Combination::GreaterEqual) return static_cast<uint8_t>(a >= b);
  if constexpr (Op == Combination::And) return static_cast<T>(a & b);
  if constexpr (Op == Combination::Or) return static_cast<T>(a | b);
  if constexpr (Op == Combination::Xor) return static_cast<T>(a ^ b);
  // Without a sign, since sums may wrap.
  if constexpr (Op == Combination::Add) return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  if constexpr (Op == Combination::Sub) return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  if constexpr (Op == Combination::Mul) return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
}

template <typename T>
T* at(const View& view, int64_t offset) {
  return static_cast<T*>(view.data) + offset;
}

// values: a, b of one type, output, all of one shape. ints: the Combination. Comparisons give bool; And to Xor are not
// for float32, Add to Mul for whole numbers alone.
class CombineStep final : public Step {
 public:
  Error bind(Binder& binder) {
    op_ = static_cast<Combination>(binder.integer(0, 0, static_cast<int64_t>(Combination::Mul)));
    views_[1] = binder.any_input(0);
    views_[2] = binder.any_input(1);
    views_[0] = binder.any_output(2);
    RL_TRY(binder.error());
    const ScalarType dtype = views_[1]->dtype;
    const bool allowed = op_ < Combination::And   ? true
                         : op_ < Combination::Add ? dtype != ScalarType::Float
                                                  : dtype == ScalarType::Long || dtype == ScalarType::Int;
    const ScalarType result = op_ < Combination::And ? ScalarType::Bool : dtype;
    RL_REQUIRE(allowed && views_[2]->dtype == dtype && views_[0]->dtype == result, InvalidProgram,
               "operands of a combination have other types than it takes");
    return Error::Ok;
  }

  Error prepare() override {
    for (const View* view : {views_[1], views_[2]}) {
      bool fits = view->rank == views_[0]->rank;
      for (int i = 0; fits && i < view->rank; ++i) fits = view->sizes[i] == views_[0]->sizes[i];
      RL_REQUIRE(fits, InvalidProgram, "operands of a combination do not fit");
    }
    loops_ = make_loops(views_, 3);
    return Error::Ok;
  }

  Error run(Run&) override {
    if (views_[0]->numel() == 0) return Error::Ok;
    switch (views_[1]->dtype) {
      case ScalarType::Float:
        compare<float>();
        break;
      case ScalarType::Long:
        calculate<int64_t>();
        break;
      case ScalarType::Int:
        calculate<int32_t>();
        break;
      default:
        join<uint8_t>();
    }
    return Error::Ok;
  }

  const char* name() const override { return "combination"; }

 private:
  template <typename T>
  void compare() const {
    switch (op_) {
      case Combination::Equal:
        return each<Combination::Equal, T>();
      case Combination::NotEqual:
        return each<Combination::NotEqual, T>();
      case Combination::Less:
        return each<Combination::Less, T>();
      case Combination::LessEqual:
        return each<Combination::LessEqual, T>();
      case Combination::Greater:
        return each<Combination::Greater, T>();
      default:
        return each<Combination::GreaterEqual, T>();
    }
  }

  template <typename T>
  void join() const {
    switch (op_) {
      case Combination::And:
        return each<Combination::And, T>();
      case Combination::Or:
        return each<Combination::Or, T>();
      case Combination::Xor:
        return each<Combination::Xor, T>();
      default:
        return compare<T>();
    }
  }

  template <typename T>
  void calculate() const {
    switch (op_) {
      case Combination::Add:
        return each<Combination::Add, T>();
      case Combination::Sub:
        return each<Combination::Sub, T>();
      case Combination::Mul:
        return each<Combination::Mul, T>();
      default:
        return join<T>();
    }
  }

  template <Combination Op, typename T>
  void each() const {
    using Result = decltype(combined<Op, T>(T{}, T{}));
    const int64_t inner = loops_.inner(), outer = loops_.outer();
    const int64_t to_step = loops_.inner_stride(0), a_step = loops_.inner_stride(1), b_step = loops_.inner_stride(2);
    for (int64_t row = 0; row < outer; ++row) {
      Result* to = at<Result>(*views_[0], loops_.row(0, row));
      const T* a = at<const T>(*views_[1], loops_.row(1, row));
      const T* b = at<const T>(*views_[2], loops_.row(2, row));
      for (int64_t i = 0; i < inner; ++i) to[i * to_step] = combined<Op, T>(a[i * a_step], b[i * b_step]);
    }
  }

  Combination op_{};
  const View* views_[3] = {};  // the output first
  Loops loops_;
};

// values: condition (bool), a, b, output: a where the condition holds. All of one shape, the last three of one type.
class SelectStep final : public Step {
 public:
  Error bind(Binder& binder) {
    for (int i = 0; i < 3; ++i) views_[i + 1] = binder.any_input(static_cast<uint32_t>(i));
    views_[0] = binder.any_output(3);
    RL_TRY(binder.error());
    RL_REQUIRE(views_[1]->dtype == ScalarType::Bool && views_[2]->dtype == views_[0]->dtype &&
                   views_[3]->dtype == views_[0]->dtype,
               InvalidProgram, "operands of a choice have other types than it takes");
    return Error::Ok;
  }

  Error prepare() override {
    for (int v = 1; v < 4; ++v) {
      bool fits = views_[v]->rank == views_[0]->rank;
      for (int i = 0; fits && i < views_[0]->rank; ++i) fits = views_[v]->sizes[i] == views_[0]->sizes[i];
      RL_REQUIRE(fits, InvalidProgram, "operands of a choice do not fit");
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
          return each<uint8_t>(begin, end);
        case 4:
          return each<uint32_t>(begin, end);
        default:
          return each<uint64_t>(begin, end);
      }
    });
    return Error::Ok;
  }

  const char* name() const override { return "choice"; }

 private:
  template <typename T>
  void each(int64_t begin, int64_t end) const {
    const int64_t inner = loops_.inner();
    int64_t step[4];
    for (int v = 0; v < 4; ++v) step[v] = loops_.inner_stride(v);
    for (int64_t row = begin; row < end; ++row) {
      T* to = at<T>(*views_[0], loops_.row(0, row));
      const uint8_t* condition = at<const uint8_t>(*views_[1], loops_.row(1, row));
      const T* a = at<const T>(*views_[2], loops_.row(2, row));
      const T* b = at<const T>(*views_[3], loops_.row(3, row));
      for (int64_t i = 0; i < inner; ++i) {
        to[i * step[0]] = condition[i * step[1]] != 0 ? a[i * step[2]] : b[i * step[3]];
      }
    }
  }

  const View* views_[4] = {};  // the output first
  Loops loops_;
};

}  // namespace

Result<Step*> make_combine(Binder& binder) {
  CombineStep* step = binder.make<CombineStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

Result<Step*> make_select(Binder& binder) {
  SelectStep* step = binder.make<SelectStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
