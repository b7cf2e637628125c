// A small network of real operators: convolution, relu, mean, permute, addmm, split and cat with lists, an index, a
// symbolic size, a branch, state, and constants.
#pragma once

#include "tests/support/program_builder.h"

namespace rushlight::testing {

inline ProgramSpec small_net() {
  const auto constant = [](std::vector<int32_t> sizes, uint32_t data, ScalarType dtype = ScalarType::Float) {
    TensorSpec tensor;
    tensor.dtype = dtype;
    tensor.sizes = std::move(sizes);
    tensor.is_planned = false;
    tensor.data = data;
    return value(tensor);
  };
  const auto planned = [](std::vector<int32_t> sizes, uint64_t offset, int8_t dynamism = 0,
                          ScalarType dtype = ScalarType::Float) {
    TensorSpec tensor;
    tensor.dtype = dtype;
    tensor.sizes = std::move(sizes);
    tensor.offset = offset;
    tensor.dynamism = dynamism;
    return value(tensor);
  };
  TensorSpec state;
  state.sizes = {2, 5};
  state.offset = 1024;
  state.data = 1;
  state.name = "total";

  PlanSpec plan;
  plan.values = {
      planned({2, 3, 6, 6}, 0, 1),         // 0 input
      constant({4, 3, 3, 3}, 1),           // 1 weight
      constant({4}, 2),                    // 2 bias
      value(int64_t{1}),                   // 3
      value(int64_t{0}),                   // 4
      int_list({3, 3}),                    // 5 stride, dilation
      int_list({4, 4}),                    // 6 padding
      value(false),                        // 7
      planned({2, 4, 4, 4}, 896, 1),       // 8 convolved
      planned({2, 4, 4, 4}, 1408 + 0, 1),  // 9 relu
      value(int64_t{2}),                   // 10
      value(int64_t{3}),                   // 11
      int_list({10, 11}),                  // 12 dims of the mean
      none(),                              // 13
      planned({2, 4}, 1920, 1),            // 14 mean
      constant({5, 4}, 3),                 // 15 linear weight
      int_list({3, 4}),                    // 16 permutation
      planned({4, 5}, 1952),               // 17 transposed
      constant({5}, 4),                    // 18 linear bias
      planned({2, 5}, 2032, 1),            // 19 scores
      planned({2, 2}, 2080, 1),            // 20 left
      planned({2, 3}, 2096, 1),            // 21 right
      int_list({10, 11}),                  // 22 split sizes
      tensor_list({20, 21}),               // 23
      tensor_list({21, 20}),               // 24
      planned({2, 5}, 2128, 1),            // 25 swapped
      constant({2}, 5, ScalarType::Long),  // 26 indices
      optional_tensor_list({-1, 26}),      // 27
      planned({2, 2}, 2176, 1),            // 28 picked
      value(int64_t{0}),                   // 29 batch
      value(state),                        // 30
      value(true),                         // 31 flag
      planned({2, 2}, 2192, 1),            // 32 result
      value(1.5),                          // 33
  };
  plan.inputs = {0};
  plan.outputs = {25, 32, 29};
  plan.operators = {{"aten::convolution", "out"}, {"aten::relu", "out"},
                    {"aten::mean", "out"},        {"aten::permute_copy", "out"},
                    {"aten::addmm", "out"},       {"aten::split_with_sizes_copy", "out"},
                    {"aten::cat", "out"},         {"aten::index", "Tensor_out"},
                    {"aten::sym_size", "int"},    {"aten::add", "Scalar_out"}};
  plan.chains = {{
      kernel_call(0, {0, 1, 2, 5, 6, 5, 7, 6, 3, 8, 8}),
      kernel_call(1, {8, 9, 9}),
      kernel_call(2, {9, 12, 7, 13, 14, 14}),
      kernel_call(3, {15, 16, 17, 17}),
      kernel_call(4, {18, 14, 17, 3, 3, 19, 19}),
      kernel_call(5, {19, 22, 3, 23, 23}),
      kernel_call(6, {24, 3, 25, 25}),
      kernel_call(7, {25, 27, 28, 28}),
      kernel_call(8, {0, 4, 29}),
      jump_false(31, 11),
      move_call(28, 32),
      kernel_call(9, {28, 33, 3, 28, 28}),
      free_call(8),
  }};
  plan.memories = {0, 2208};

  ProgramSpec spec;
  const size_t sizes[] = {4 * 108, 4 * 4, 4 * 20, 4 * 5, 8 * 2, 4 * 10};
  std::vector<uint64_t> offsets = {0};
  for (const size_t size : sizes) {
    offsets.push_back(spec.segment_data.size());
    for (size_t i = 0; i < size / 4; ++i) {
      const float number = 0.25f * static_cast<float>(i % 9) - 1.0f;
      const auto* bytes = reinterpret_cast<const uint8_t*>(&number);
      spec.segment_data.insert(spec.segment_data.end(), bytes, bytes + 4);
    }
    while (spec.segment_data.size() % 16 != 0) spec.segment_data.push_back(0);
  }
  const int64_t indices[] = {4, 0};
  std::memcpy(spec.segment_data.data() + offsets[5], indices, sizeof(indices));
  spec.plans = {plan};
  spec.segments = {{0, spec.segment_data.size()}};
  spec.constants = {0, {offsets.begin(), offsets.end() - 1}};
  spec.mutable_segments = {{0, {0, offsets[6]}}};
  return spec;
}

}  // namespace rushlight::testing
