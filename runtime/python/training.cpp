#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <list>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "python/bindings.h"
#include "python/errors.h"
#include "python/tensor_view.h"
#include "rushlight/training/adamw.h"
#include "rushlight/training/sgd.h"
#include "training/arguments.h"

namespace rushlight::python {

namespace nb = nanobind;

namespace {

// A Python array as a tensor. The array is dense in the dim order.
class ArrayTensor {
 public:
  // If `like` has the rank of the array, its dim order is used. Otherwise the array must be dense in some dim order.
  ArrayTensor(nb::handle object, const std::string& name, const TensorImpl* like) {
    try {
      if (!borrowed_.borrow(object)) throw NoTensor{"not " + type_name_of(object)};
    } catch (const NoTensor& error) {
      raise(Error::InvalidType, name + " must be a tensor, " + error.reason);
    }
    TensorView& view = borrowed_.view;
    impl_.data = view.data;
    if (!like || like->dim != view.dim) {
      if (!dense_dim_order(view, order_)) raise(Error::InvalidArgument, name + " is not dense in memory");
    } else {
      for (int i = 0; i < view.dim; ++i) order_[i] = like->dim_order[i];
      if (!is_dense_in(view, order_)) {
        packed_.resize(view.nbytes() + 1);
        pack(view, order_, packed_.data());
        impl_.data = packed_.data();
      }
    }
    strides_from_dim_order(view.shape(), order_, strides_);
    impl_.sizes = view.sizes;
    impl_.strides = strides_;
    impl_.dim_order = order_;
    impl_.numel = view.numel();
    impl_.capacity = view.nbytes();
    impl_.dtype = view.dtype;
    impl_.dim = view.dim;
  }
  ArrayTensor(const ArrayTensor&) = delete;
  ArrayTensor& operator=(const ArrayTensor&) = delete;

  Tensor tensor() { return Tensor(&impl_); }
  const TensorImpl& impl() const { return impl_; }
  bool is_read_only() const { return borrowed_.view.read_only; }

 private:
  BorrowedTensor borrowed_;
  DimOrderType order_[kMaxDim];
  StridesType strides_[kMaxDim];
  std::vector<uint8_t> packed_;
  TensorImpl impl_;
};

// A tensor like `parameter` over the memory of a state.
class StateTensor {
 public:
  StateTensor(const TensorImpl& parameter, ScalarType dtype, std::vector<uint8_t>& memory) : impl_(parameter) {
    impl_.dtype = dtype;
    impl_.capacity = static_cast<size_t>(impl_.numel) * element_size(dtype);
    if (memory.empty()) memory.resize(impl_.capacity + 1);
    impl_.data = memory.data();
  }
  StateTensor(const StateTensor&) = delete;
  StateTensor& operator=(const StateTensor&) = delete;
  Tensor tensor() { return Tensor(&impl_); }

 private:
  TensorImpl impl_;
};

// The state of SGD for one parameter.
class SgdState {
 public:
  using Options = SgdOptions;
  static constexpr const char* kName = "SGD";
  static Error check(const Options& options) { return check_sgd_options(options); }

  Error step(const Options& options, const TensorImpl& like, const Tensor& parameter, const Tensor& gradient) {
    if (options.momentum == 0) return sgd_step(options, parameter, gradient, nullptr, is_first_);
    StateTensor memory(like, like.dtype, direction_);
    const Tensor direction = memory.tensor();
    RL_TRY(sgd_step(options, parameter, gradient, &direction, is_first_));
    is_first_ = false;
    return Error::Ok;
  }

 private:
  std::vector<uint8_t> direction_;
  bool is_first_ = true;
};

// The state of AdamW for one parameter.
class AdamWState {
 public:
  using Options = AdamWOptions;
  static constexpr const char* kName = "AdamW";
  static Error check(const Options& options) { return check_adamw_options(options); }

  Error step(const Options& options, const TensorImpl& like, const Tensor& parameter, const Tensor& gradient) {
    const ScalarType dtype = adamw_moment_dtype(like.dtype);
    StateTensor mean(like, dtype, mean_);
    StateTensor square(like, dtype, square_);
    if (!options.amsgrad) {
      RL_TRY(adamw_step(options, parameter, gradient, mean.tensor(), square.tensor(), nullptr, steps_ + 1));
    } else {
      StateTensor memory(like, dtype, maximum_);
      const Tensor maximum = memory.tensor();
      RL_TRY(adamw_step(options, parameter, gradient, mean.tensor(), square.tensor(), &maximum, steps_ + 1));
    }
    ++steps_;
    return Error::Ok;
  }

 private:
  std::vector<uint8_t> mean_, square_, maximum_;
  int64_t steps_ = 0;
};

// An optimizer of named parameters. `State` is its state for one parameter.
template <typename State>
class Optimizer {
 public:
  using Options = typename State::Options;

  Optimizer(nb::dict parameters, const Options& options) : options_(options) {
    raise_if(State::check(options_));
    for (auto [key, value] : parameters) {
      std::string name = nb::cast<std::string>(key);
      ArrayTensor viewed(value, "parameter '" + name + "'", nullptr);
      if (viewed.is_read_only()) raise(Error::InvalidArgument, "parameter '" + name + "' is read-only");
      if (!is_floating(viewed.impl().dtype)) {
        raise(Error::NotSupported, "parameter '" + name + "' is " + dtype_name(viewed.impl().dtype) + "; " +
                                       State::kName + " supports float32, float64, float16 and bfloat16");
      }
      rows_[name].parameter = nb::borrow(value);
    }
  }

  // Checks all gradients before it updates the first parameter.
  void step(nb::dict gradients) {
    std::list<Update> updates;
    for (auto [key, value] : gradients) {
      const auto found = rows_.find(nb::cast<std::string>(key));
      if (found == rows_.end()) continue;
      Update& update = updates.emplace_back(found->first, found->second, value);
      raise_for(found->first, check_gradient(State::kName, update.parameter.tensor(), update.gradient.tensor()));
    }
    if (updates.empty() && !rows_.empty()) {
      raise(Error::InvalidArgument,
            "none of the " + std::to_string(gradients.size()) + " gradients belongs to a parameter of this optimizer");
    }
    for (Update& update : updates) {
      raise_for(update.name, update.row.state.step(options_, update.parameter.impl(), update.parameter.tensor(),
                                                   update.gradient.tensor()));
    }
  }

  double lr() const { return options_.lr; }
  void set_lr(double lr) {
    Options changed = options_;
    changed.lr = lr;
    raise_if(State::check(changed));
    options_ = changed;
  }

 private:
  struct Row {
    nb::object parameter;
    State state;
  };

  struct Update {
    Update(const std::string& name, Row& row, nb::handle given)
        : name(name),
          row(row),
          parameter(row.parameter, "parameter '" + name + "'", nullptr),
          gradient(given, "the gradient of '" + name + "'", &parameter.impl()) {}
    const std::string& name;
    Row& row;
    ArrayTensor parameter;
    ArrayTensor gradient;
  };

  static void raise_for(const std::string& name, Error error) {
    if (error != Error::Ok) raise(error, "parameter '" + name + "': " + last_error_message());
  }

  Options options_;
  std::map<std::string, Row> rows_;
};

using SgdObject = Optimizer<SgdState>;
using AdamWObject = Optimizer<AdamWState>;

// Binds the functions that all optimizers have.
template <typename Object>
void bind_steps(nb::class_<Object>& bound) {
  using namespace nb::literals;
  bound
      .def("step", &Object::step, "gradients"_a, nb::sig("def step(self, gradients: dict[str, typing.Any]) -> None"),
           "Updates each parameter that has a gradient.")
      .def_prop_rw("lr", &Object::lr, &Object::set_lr, "The learning rate.");
}

}  // namespace

void bind_training(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SgdObject> sgd(module, "Sgd",
                            "Stochastic gradient descent over named parameters, which it updates in place.");
  sgd.def(
      "__init__",
      [](SgdObject* self, nb::dict parameters, double lr, double momentum, double dampening, double weight_decay,
         bool nesterov) {
        new (self) SgdObject(parameters, SgdOptions{lr, momentum, dampening, weight_decay, nesterov});
      },
      "parameters"_a, "lr"_a, "momentum"_a, "dampening"_a, "weight_decay"_a, "nesterov"_a,
      nb::sig("def __init__(self, parameters: dict[str, typing.Any], lr: float, momentum: float, dampening: float, "
              "weight_decay: float, nesterov: bool) -> None"));
  bind_steps(sgd);
  nb::class_<AdamWObject> adamw(module, "AdamW",
                                "Adam with decoupled weight decay over named parameters, which it updates in place.");
  adamw.def(
      "__init__",
      [](AdamWObject* self, nb::dict parameters, double lr, double beta1, double beta2, double eps, double weight_decay,
         bool amsgrad) {
        new (self) AdamWObject(parameters, AdamWOptions{lr, beta1, beta2, eps, weight_decay, amsgrad});
      },
      "parameters"_a, "lr"_a, "beta1"_a, "beta2"_a, "eps"_a, "weight_decay"_a, "amsgrad"_a,
      nb::sig("def __init__(self, parameters: dict[str, typing.Any], lr: float, beta1: float, beta2: float, "
              "eps: float, weight_decay: float, amsgrad: bool) -> None"));
  bind_steps(adamw);
}

}  // namespace rushlight::python
