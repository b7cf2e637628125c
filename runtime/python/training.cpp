#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>
#include <vector>

#include "python/bindings.h"
#include "python/errors.h"
#include "python/tensor_view.h"
#include "rushlight/training/sgd.h"

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

class SgdObject {
 public:
  SgdObject(nb::dict parameters, double lr, double momentum, double dampening, double weight_decay, bool nesterov)
      : options_{lr, momentum, dampening, weight_decay, nesterov} {
    check(check_sgd_options(options_));
    for (auto [key, value] : parameters) {
      std::string name = nb::cast<std::string>(key);
      ArrayTensor viewed(value, "parameter '" + name + "'", nullptr);
      if (viewed.is_read_only()) raise(Error::InvalidArgument, "parameter '" + name + "' is read-only");
      if (!is_floating(viewed.impl().dtype)) {
        raise(Error::NotSupported, "parameter '" + name + "' is " + dtype_name(viewed.impl().dtype) +
                                       "; SGD supports float32, float64, float16 and bfloat16");
      }
      rows_[name].parameter = nb::borrow(value);
    }
  }

  void step(nb::dict gradients) {
    size_t used = 0;
    for (auto [key, value] : gradients) {
      const auto found = rows_.find(nb::cast<std::string>(key));
      if (found == rows_.end()) continue;
      ++used;
      update(found->first, found->second, value);
    }
    if (used == 0 && !rows_.empty()) {
      raise(Error::InvalidArgument,
            "none of the " + std::to_string(gradients.size()) + " gradients belongs to a parameter of this optimizer");
    }
  }

  double lr() const { return options_.lr; }
  void set_lr(double lr) {
    SgdOptions changed = options_;
    changed.lr = lr;
    check(check_sgd_options(changed));
    options_ = changed;
  }

 private:
  struct Row {
    nb::object parameter;
    std::vector<uint8_t> direction;  // empty before the first step
  };

  static void check(Error error) { raise_if(error); }

  void update(const std::string& name, Row& row, nb::handle gradient) {
    ArrayTensor parameter(row.parameter, "parameter '" + name + "'", nullptr);
    ArrayTensor given(gradient, "the gradient of '" + name + "'", &parameter.impl());
    const bool is_first = row.direction.empty();
    TensorImpl impl = parameter.impl();
    if (options_.momentum != 0) {
      std::vector<uint8_t> memory;
      if (is_first) memory.resize(parameter.tensor().nbytes() + 1);
      std::vector<uint8_t>& used = is_first ? memory : row.direction;
      impl.data = used.data();
      const Tensor direction(&impl);
      step_or_raise(name, parameter, given, &direction, is_first);
      if (is_first) row.direction = std::move(memory);
    } else {
      step_or_raise(name, parameter, given, nullptr, is_first);
    }
  }

  void step_or_raise(const std::string& name, ArrayTensor& parameter, ArrayTensor& gradient, const Tensor* direction,
                     bool is_first) {
    clear_last_error_message();
    const Error error = sgd_step(options_, parameter.tensor(), gradient.tensor(), direction, is_first);
    if (error != Error::Ok) raise(error, "parameter '" + name + "': " + last_error_message());
  }

  SgdOptions options_;
  std::map<std::string, Row> rows_;
};

}  // namespace

void bind_training(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SgdObject>(module, "Sgd", "Stochastic gradient descent over named parameters, which it updates in place.")
      .def(
          nb::init<nb::dict, double, double, double, double, bool>(), "parameters"_a, "lr"_a, "momentum"_a,
          "dampening"_a, "weight_decay"_a, "nesterov"_a,
          nb::sig("def __init__(self, parameters: dict[str, typing.Any], lr: float, momentum: float, dampening: float, "
                  "weight_decay: float, nesterov: bool) -> None"))
      .def("step", &SgdObject::step, "gradients"_a, nb::sig("def step(self, gradients: dict[str, typing.Any]) -> None"),
           "Updates each parameter that has a gradient.")
      .def_prop_rw("lr", &SgdObject::lr, &SgdObject::set_lr, "The learning rate.");
}

}  // namespace rushlight::python
