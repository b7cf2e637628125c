// Generated from schema/cpu_plan.fbs by `python -m rushlight.codegen.generate`.
// clang-format off
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "core/flatbuffer.h"

namespace rushlight::cpu::schema {

// Where the bytes of a storage are.
enum class StorageKind : int8_t {
  ARENA = 0,
  ARGUMENT = 1,
  CONSTANT = 2,
  STATE = 3,
};

// A float32 function of one number; p and q are its parameters.
enum class UnaryFunction : int8_t {
  NONE = -1,
  ABS = 0,
  NEG = 1,
  RELU = 2,
  CLAMP = 3,
  LEAKY_RELU = 4,
  HARDSIGMOID = 5,
  HARDSWISH = 6,
  SQRT = 7,
  RSQRT = 8,
  RECIPROCAL = 9,
  SQUARE = 10,
  CUBE = 11,
  AFFINE = 12,
  RECIPROCAL_SQUARE = 13,
  EXP = 14,
  LOG = 15,
  TANH = 16,
  ERF = 17,
  SIGMOID = 18,
  SILU = 19,
  GELU = 20,
  GELU_TANH = 21,
  SIN = 22,
  COS = 23,
  LOG1P = 24,
  EXPM1 = 25,
  LOG2 = 26,
  LOG10 = 27,
  SOFTPLUS = 28,
  MISH = 29,
  ELU = 30,
  FLOOR = 31,
  CEIL = 32,
  TRUNC = 33,
  ROUND = 34,
  SIGN = 35,
};

// A float32 function of two numbers; p is its parameter.
enum class BinaryFunction : int8_t {
  NONE = -1,
  ADD = 0,
  ADD_SCALED = 1,
  SUB = 2,
  MUL = 3,
  DIV = 4,
  MAXIMUM = 5,
  MINIMUM = 6,
  ATAN2 = 7,
};

// A comparison (which gives bool), a logical operation, or arithmetic of integers.
enum class Comparison : int8_t {
  EQUAL = 0,
  NOT_EQUAL = 1,
  LESS = 2,
  LESS_EQUAL = 3,
  GREATER = 4,
  GREATER_EQUAL = 5,
  AND = 6,
  OR = 7,
  XOR = 8,
  ADD = 9,
  SUB = 10,
  MUL = 11,
};

// What several numbers become.
enum class Reduction : int8_t {
  SUM = 0,
  MEAN = 1,
  MAXIMUM = 2,
  MINIMUM = 3,
};

// How images are resampled. With ALIGN_CORNERS the centres of the corners' pixels stay where they are.
enum class Interpolation : int8_t {
  NEAREST = 0,
  BILINEAR = 1,
  BILINEAR_ALIGN_CORNERS = 2,
  BICUBIC = 3,
  BICUBIC_ALIGN_CORNERS = 4,
};

// How the range of numbers becomes a scale and a zero point.
// 
// In the order of torch's choose_qparams, choose_qparams_symmetric and choose_qparams_per_token_asymmetric. The last
// one is choose_qparams_symmetric for each row.
enum class QuantizationChoice : int8_t {
  ASYMMETRIC = 0,
  SYMMETRIC = 1,
  PER_TOKEN = 2,
  PER_TOKEN_SYMMETRIC = 3,
};

enum class Operation : uint8_t {
  NONE = 0,
  Gemm = 1,
  BlockGemm = 2,
  Winograd = 3,
  DepthwiseConv2d = 4,
  Bottleneck = 5,
  Pool2d = 6,
  Elementwise = 7,
  Copy = 8,
  Convert = 9,
  Reduce = 10,
  Softmax = 11,
  Normalize = 12,
  GroupNormStatistics = 13,
  Attention = 14,
  MatMul = 15,
  Gather = 16,
  Recurrent = 17,
  Compare = 18,
  Where = 19,
  Scatter = 20,
  Resize2d = 21,
  Int8Gemm = 22,
  Int8DepthwiseConv2d = 23,
  Int8Pool2d = 24,
  Int8Mean = 25,
  Int8Binary = 26,
  Int8Lookup = 27,
  Quantize = 28,
  Dequantize = 29,
  DynamicQuantize = 30,
  WeightOnlyGemm = 31,
  Int4Gemm = 32,
  QuantizedGather = 33,
  GroupedConv2d = 34,
  Take = 35,
  CumulativeSum = 36,
  Int8GroupedConv2d = 37,
  WeightOnlyRecurrent = 38,
};

// Applies X to the name of each member of Operation.
#define RUSHLIGHT_OPERATION_MEMBERS(X) \
  X(Gemm) \
  X(BlockGemm) \
  X(Winograd) \
  X(DepthwiseConv2d) \
  X(Bottleneck) \
  X(Pool2d) \
  X(Elementwise) \
  X(Copy) \
  X(Convert) \
  X(Reduce) \
  X(Softmax) \
  X(Normalize) \
  X(GroupNormStatistics) \
  X(Attention) \
  X(MatMul) \
  X(Gather) \
  X(Recurrent) \
  X(Compare) \
  X(Where) \
  X(Scatter) \
  X(Resize2d) \
  X(Int8Gemm) \
  X(Int8DepthwiseConv2d) \
  X(Int8Pool2d) \
  X(Int8Mean) \
  X(Int8Binary) \
  X(Int8Lookup) \
  X(Quantize) \
  X(Dequantize) \
  X(DynamicQuantize) \
  X(WeightOnlyGemm) \
  X(Int4Gemm) \
  X(QuantizedGather) \
  X(GroupedConv2d) \
  X(Take) \
  X(CumulativeSum) \
  X(Int8GroupedConv2d) \
  X(WeightOnlyRecurrent)

// What a size, stride or offset is: operations on a stack, each followed by its operand if it has one.
// 
// 0 c: push c. 1 s: push symbol s. 2: add. 3: multiply. 4: floor division. 5: floor modulus. 6: largest. 7: least.
struct Expression : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Vector<int64_t> code() const { return vector<int64_t>(4); }
  bool has_code() const { return field(4) != nullptr; }
};

// A size that is known when the delegate is called. The size of an argument equals factor * symbol + shift.
// 
// The argument has the index `argument`. Its size is the size of dimension `axis`; for an int argument, `axis` is -1
// and the size is the value of the argument.
struct Symbol : flatbuffer::Table {
  using Table::Table;
  uint32_t argument() const { return scalar<uint32_t>(4, 0); }
  int32_t axis() const { return scalar<int32_t>(6, 0); }
  int64_t factor() const { return scalar<int64_t>(8, 0); }
  int64_t shift() const { return scalar<int64_t>(10, 0); }
  int64_t lower() const { return scalar<int64_t>(12, 0); }
  int64_t upper() const { return scalar<int64_t>(14, 0); }
};

// A piece of memory. `bytes` is its size at the upper bounds of all symbols; it is not used for arguments.
struct Storage : flatbuffer::Table {
  using Table::Table;
  StorageKind kind() const { return scalar<StorageKind>(4, StorageKind::ARENA); }
  uint64_t bytes() const { return scalar<uint64_t>(6, 0); }
  uint64_t offset() const { return scalar<uint64_t>(8, 0); }
  uint32_t index() const { return scalar<uint32_t>(10, 0); }
  std::string_view name() const { return string(12); }
  bool has_name() const { return field(12) != nullptr; }
};

// A strided view of a storage, in elements. `offset`, `sizes` and `strides` are indices of expressions.
struct Value : flatbuffer::Table {
  using Table::Table;
  uint32_t storage() const { return scalar<uint32_t>(4, 0); }
  int8_t dtype() const { return scalar<int8_t>(6, 0); }
  uint32_t offset() const { return scalar<uint32_t>(8, 0); }
  flatbuffer::Vector<uint32_t> sizes() const { return vector<uint32_t>(10); }
  bool has_sizes() const { return field(10) != nullptr; }
  flatbuffer::Vector<uint32_t> strides() const { return vector<uint32_t>(12); }
  bool has_strides() const { return field(12) != nullptr; }
};

// An argument of the delegate. Ints have no value.
struct Argument : flatbuffer::Table {
  using Table::Table;
  uint32_t value() const { return scalar<uint32_t>(4, std::numeric_limits<uint32_t>::max()); }
  bool is_output() const { return scalar<bool>(6, false); }
};

// The window of a convolution or a pooling over [n, h, w, c].
struct Window : flatbuffer::Table {
  using Table::Table;
  uint32_t kernel_h() const { return scalar<uint32_t>(4, 1); }
  uint32_t kernel_w() const { return scalar<uint32_t>(6, 1); }
  uint32_t stride_h() const { return scalar<uint32_t>(8, 1); }
  uint32_t stride_w() const { return scalar<uint32_t>(10, 1); }
  uint32_t pad_h() const { return scalar<uint32_t>(12, 0); }
  uint32_t pad_w() const { return scalar<uint32_t>(14, 0); }
  uint32_t dilation_h() const { return scalar<uint32_t>(16, 1); }
  uint32_t dilation_w() const { return scalar<uint32_t>(18, 1); }
};

// What a step does to its float32 result after it has added the residual: a clamp, then a function.
struct Epilogue : flatbuffer::Table {
  using Table::Table;
  float low() const { return scalar<float>(4, -std::numeric_limits<float>::infinity()); }
  float high() const { return scalar<float>(6, std::numeric_limits<float>::infinity()); }
  UnaryFunction function() const { return scalar<UnaryFunction>(8, UnaryFunction::NONE); }
  float p() const { return scalar<float>(10, 0.0f); }
  float q() const { return scalar<float>(12, 0.0f); }
};

// What a step does to its float32 input before it: scale and shift by channel, which are operands, then a clamp.
struct Prologue : flatbuffer::Table {
  using Table::Table;
  float low() const { return scalar<float>(4, -std::numeric_limits<float>::infinity()); }
  float high() const { return scalar<float>(6, std::numeric_limits<float>::infinity()); }
};

// Quantization parameters of an int8 result and its clamping range. The real value is (result - zero_point) * scale.
struct Int8Range : flatbuffer::Table {
  using Table::Table;
  int8_t zero_point() const { return scalar<int8_t>(4, 0); }
  int8_t low() const { return scalar<int8_t>(6, -128); }
  int8_t high() const { return scalar<int8_t>(8, 127); }
};

// The sum of an int8 result and an int8 residual. Each factor is the scale of an operand divided by the scale of the sum.
struct Int8Sum : flatbuffer::Table {
  using Table::Table;
  int8_t residual_zero_point() const { return scalar<int8_t>(4, 0); }
  Int8Range output() const { return table<Int8Range>(6); }
  bool has_output() const { return field(6) != nullptr; }
  float factor() const { return scalar<float>(8, 0.0f); }
  float residual_factor() const { return scalar<float>(10, 0.0f); }
};

// How int8 weights are packed: columns in a vector and in a panel, and numbers of a column that lie together.
struct Int8Packing : flatbuffer::Table {
  using Table::Table;
  uint32_t lanes() const { return scalar<uint32_t>(4, 1); }
  uint32_t panel() const { return scalar<uint32_t>(6, 1); }
  uint32_t group() const { return scalar<uint32_t>(8, 1); }
};

// A pooling. divisor: of averages; 0 for the number of elements. counts_padding: these elements include padding.
struct Pooling : flatbuffer::Table {
  using Table::Table;
  Window window() const { return table<Window>(4); }
  bool has_window() const { return field(4) != nullptr; }
  bool is_maximum() const { return scalar<bool>(6, false); }
  uint32_t divisor() const { return scalar<uint32_t>(8, 0); }
  bool counts_padding() const { return scalar<bool>(10, false); }
};

// An operation of an elementwise chain, on float32 registers: `unary` of a, or `binary` of a and b.
struct Instruction : flatbuffer::Table {
  using Table::Table;
  UnaryFunction unary() const { return scalar<UnaryFunction>(4, UnaryFunction::NONE); }
  BinaryFunction binary() const { return scalar<BinaryFunction>(6, BinaryFunction::NONE); }
  uint8_t target() const { return scalar<uint8_t>(8, 0); }
  uint8_t a() const { return scalar<uint8_t>(10, 0); }
  uint8_t b() const { return scalar<uint8_t>(12, 0); }
  float p() const { return scalar<float>(14, 0.0f); }
  float q() const { return scalar<float>(16, 0.0f); }
};

// A convolution within a bottleneck: of one group, with packed weights.
struct BottleneckConvolution : flatbuffer::Table {
  using Table::Table;
  Window window() const { return table<Window>(4); }
  bool has_window() const { return field(4) != nullptr; }
  uint32_t channels() const { return scalar<uint32_t>(6, 1); }
  uint32_t outputs() const { return scalar<uint32_t>(8, 1); }
  Epilogue epilogue() const { return table<Epilogue>(10); }
  bool has_epilogue() const { return field(10) != nullptr; }
};

// A depthwise convolution within a bottleneck.
struct BottleneckDepthwise : flatbuffer::Table {
  using Table::Table;
  Window window() const { return table<Window>(4); }
  bool has_window() const { return field(4) != nullptr; }
  Epilogue epilogue() const { return table<Epilogue>(6); }
  bool has_epilogue() const { return field(6) != nullptr; }
};

// A convolution [n, h, w, c] -> [n, h, w, o] as an implicit GEMM; with a window of 1 x 1 a product with a matrix.
struct Gemm : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // Packed matrices, one for each group.
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand residual() const { return {"residual", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  // [n, h, w, c]; the numbers of an image are the same for all of its pixels. Only with a prologue.
  flatbuffer::Operand prologue_scale() const { return {"prologue_scale", scalar<uint32_t>(12, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand prologue_shift() const { return {"prologue_shift", scalar<uint32_t>(14, flatbuffer::kNoOperand)}; }
  // Further inputs. Their channels follow the channels of the first input. Not with a prologue.
  flatbuffer::Operands more_inputs() const { return flatbuffer::Operands("more_inputs", vector<uint32_t>(16)); }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(18, 0)}; }
  Window window() const { return table<Window>(20); }
  bool has_window() const { return field(20) != nullptr; }
  uint32_t groups() const { return scalar<uint32_t>(22, 1); }
  // Input channels of a group.
  uint32_t channels() const { return scalar<uint32_t>(24, 1); }
  // Output channels of a group.
  uint32_t outputs() const { return scalar<uint32_t>(26, 1); }
  Epilogue epilogue() const { return table<Epilogue>(28); }
  bool has_epilogue() const { return field(28) != nullptr; }
  // Whether the input may be rounded to the type of the weights.
  bool rounds_input() const { return scalar<bool>(30, false); }
  Prologue prologue() const { return table<Prologue>(32); }
  bool has_prologue() const { return field(32) != nullptr; }
};

// A product of block floating-point numbers: int16 with a float32 scale for each block of a column.
struct BlockGemm : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // A packed matrix of int16 blocks.
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand residual() const { return {"residual", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(12, 0)}; }
  uint32_t channels() const { return scalar<uint32_t>(14, 1); }
  uint32_t outputs() const { return scalar<uint32_t>(16, 1); }
  // Blocks of a column.
  uint32_t blocks() const { return scalar<uint32_t>(18, 1); }
  Epilogue epilogue() const { return table<Epilogue>(20); }
  bool has_epilogue() const { return field(20) != nullptr; }
};

// A convolution of 3 x 3 by Winograd's transforms F(m x m, 3 x 3), or F(2, 2) over even inputs at stride 2.
struct Winograd : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // Packed matrices, one for each point and group, or one of [channels, outputs] for each of the nine taps and each
  // group, which are transformed at load.
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand residual() const { return {"residual", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  // Further inputs. Their channels follow the channels of the first input.
  flatbuffer::Operands more_inputs() const { return flatbuffer::Operands("more_inputs", vector<uint32_t>(12)); }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(14, 0)}; }
  uint32_t m() const { return scalar<uint32_t>(16, 2); }
  uint32_t pad_h() const { return scalar<uint32_t>(18, 0); }
  uint32_t pad_w() const { return scalar<uint32_t>(20, 0); }
  uint32_t stride() const { return scalar<uint32_t>(22, 1); }
  // Input channels of a group.
  uint32_t channels() const { return scalar<uint32_t>(24, 1); }
  // Output channels of a group.
  uint32_t outputs() const { return scalar<uint32_t>(26, 1); }
  Epilogue epilogue() const { return table<Epilogue>(28); }
  bool has_epilogue() const { return field(28) != nullptr; }
  // Whether the weights are as the program has them. Only at stride 1.
  bool transforms_weight() const { return scalar<bool>(30, false); }
  uint32_t groups() const { return scalar<uint32_t>(32, 1); }
};

// A depthwise convolution with one filter for each channel.
struct DepthwiseConv2d : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // [kernel h, kernel w, c].
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(10, 0)}; }
  Window window() const { return table<Window>(12); }
  bool has_window() const { return field(12) != nullptr; }
  Epilogue epilogue() const { return table<Epilogue>(14); }
  bool has_epilogue() const { return field(14) != nullptr; }
};

// A convolution with few channels in each group.
struct GroupedConv2d : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // [inputs of a group, kernel h, kernel w, outputs of all groups].
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(10, 0)}; }
  Window window() const { return table<Window>(12); }
  bool has_window() const { return field(12) != nullptr; }
  uint32_t groups() const { return scalar<uint32_t>(14, 1); }
  Epilogue epilogue() const { return table<Epilogue>(16); }
  bool has_epilogue() const { return field(16) != nullptr; }
};

// A convolution, a depthwise convolution of its result and an optional pointwise convolution, a few rows at a time.
// 
// Padding is the same on both sides.
struct Bottleneck : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand expand_weight() const { return {"expand_weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand expand_bias() const { return {"expand_bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand depthwise_weight() const { return {"depthwise_weight", scalar<uint32_t>(10, 0)}; }
  flatbuffer::Operand depthwise_bias() const { return {"depthwise_bias", scalar<uint32_t>(12, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand project_weight() const { return {"project_weight", scalar<uint32_t>(14, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand project_bias() const { return {"project_bias", scalar<uint32_t>(16, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand residual() const { return {"residual", scalar<uint32_t>(18, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(20, 0)}; }
  BottleneckConvolution expand() const { return table<BottleneckConvolution>(22); }
  bool has_expand() const { return field(22) != nullptr; }
  BottleneckDepthwise depthwise() const { return table<BottleneckDepthwise>(24); }
  bool has_depthwise() const { return field(24) != nullptr; }
  // The product; it has a weight if it is there.
  BottleneckConvolution project() const { return table<BottleneckConvolution>(26); }
  bool has_project() const { return field(26) != nullptr; }
};

// A pooling of [n, h, w, c].
struct Pool2d : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  Pooling pooling() const { return table<Pooling>(8); }
  bool has_pooling() const { return field(8) != nullptr; }
};

// A chain of elementwise operators. The first registers hold the inputs. The last instruction writes the output.
struct Elementwise : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operands inputs() const { return flatbuffer::Operands("inputs", vector<uint32_t>(4)); }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  uint32_t registers() const { return scalar<uint32_t>(8, 1); }
  flatbuffer::Vector<Instruction> code() const { return vector<Instruction>(10); }
  bool has_code() const { return field(10) != nullptr; }
};

// A copy between tensors of one shape, in any order of dimensions.
struct Copy : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
};

// 16-bit floats become float32, or float32 16-bit floats.
struct Convert : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
};

// Sums, means or extremes: input [a.., r.., b], output [a.., b], where b is contiguous in both, or 1.
struct Reduce : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  Reduction reduction() const { return scalar<Reduction>(8, Reduction::SUM); }
  // The number of dimensions a.
  uint32_t kept() const { return scalar<uint32_t>(10, 0); }
  // The number of dimensions r.
  uint32_t reduced() const { return scalar<uint32_t>(12, 0); }
};

// The softmax of rows, or its logarithm.
struct Softmax : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  bool is_logarithm() const { return scalar<bool>(8, false); }
};

// A layer norm of rows, or an RMS norm, which does not subtract the mean.
struct Normalize : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(10, 0)}; }
  // Elements of a row.
  uint32_t length() const { return scalar<uint32_t>(12, 0); }
  bool subtracts_mean() const { return scalar<bool>(14, true); }
  float epsilon() const { return scalar<float>(16, 0.0f); }
  // Whether the step divides each row by the larger of its Euclidean norm and epsilon. Only without mean and weight.
  bool divides_by_norm() const { return scalar<bool>(18, false); }
};

// The statistics of a group norm over [n, h, w, c]: the result is input * scale + shift, both [n, c].
struct GroupNormStatistics : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand scale() const { return {"scale", scalar<uint32_t>(10, 0)}; }
  flatbuffer::Operand shift() const { return {"shift", scalar<uint32_t>(12, 0)}; }
  uint32_t groups() const { return scalar<uint32_t>(14, 1); }
  uint32_t channels() const { return scalar<uint32_t>(16, 1); }
  float epsilon() const { return scalar<float>(18, 0.0f); }
};

// Scaled dot product attention: query [b, h, t, d], key [b, g, s, d], value [b, g, s, e], output [b, h, t, e].
// 
// h is a multiple of g. Last dimensions are contiguous, but for the masks'.
struct Attention : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand query() const { return {"query", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand key() const { return {"key", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand value() const { return {"value", scalar<uint32_t>(8, 0)}; }
  // [b, h, t, s]: float32 is added to scores, bool says where to look.
  flatbuffer::Operand mask() const { return {"mask", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  // Keys and values behind these, [b, g, r, d] and [b, g, r, e]. Only with a few queries.
  flatbuffer::Operand key_tail() const { return {"key_tail", scalar<uint32_t>(12, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand value_tail() const { return {"value_tail", scalar<uint32_t>(14, flatbuffer::kNoOperand)}; }
  // Another mask of float32. Only with a first one.
  flatbuffer::Operand second_mask() const { return {"second_mask", scalar<uint32_t>(16, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(18, 0)}; }
  float scale() const { return scalar<float>(20, 1.0f); }
  // Whether a query sees keys up to its own place alone.
  bool is_causal() const { return scalar<bool>(22, false); }
  // Whether the result of a query whose scores are all -infinity is zeros and not NaN; always with a bool mask.
  bool may_be_empty() const { return scalar<bool>(24, false); }
};

// A batch of matrix products of two operands that are not constant: a [b0, b1, m, k], b [b0, b1, k, n].
struct MatMul : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand a() const { return {"a", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand b() const { return {"b", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(8, 0)}; }
};

// Rows of a table [rows, n] of float32 or 16-bit floats by indices [count] (int64).
struct Gather : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand table_of_rows() const { return {"table_of_rows", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand indices() const { return {"indices", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(8, 0)}; }
  // Whether negative indices count from the table's end.
  bool wraps_negative() const { return scalar<bool>(10, false); }
};

// Elements of a tensor at places along an axis: output[i][j] = input[i][indices[i][j]] for the last axis of a matrix.
struct Take : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // Of the output's shape.
  flatbuffer::Operand indices() const { return {"indices", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(8, 0)}; }
  uint32_t axis() const { return scalar<uint32_t>(10, 0); }
};

// The cumulative sum along an axis. The sums are computed in double precision.
struct CumulativeSum : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  uint32_t axis() const { return scalar<uint32_t>(8, 0); }
};

// A layer of an LSTM or a GRU in one direction; the products with its inputs are a step before.
struct Recurrent : flatbuffer::Table {
  using Table::Table;
  // [steps, batch, columns]; columns are the gates in blocks of units.
  flatbuffer::Operand projected() const { return {"projected", scalar<uint32_t>(4, 0)}; }
  // Packed [hidden, columns].
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  // State and cell before the first step, [batch, hidden]; zeros if they are absent.
  flatbuffer::Operand first_state() const { return {"first_state", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand first_cell() const { return {"first_cell", scalar<uint32_t>(12, flatbuffer::kNoOperand)}; }
  // [steps, batch, hidden].
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(14, 0)}; }
  // State and cell (none of a GRU) after the last step.
  flatbuffer::Operand last_state() const { return {"last_state", scalar<uint32_t>(16, 0)}; }
  flatbuffer::Operand last_cell() const { return {"last_cell", scalar<uint32_t>(18, flatbuffer::kNoOperand)}; }
  bool is_gru() const { return scalar<bool>(20, false); }
  uint32_t hidden() const { return scalar<uint32_t>(22, 1); }
  // Whether the last step comes first.
  bool is_backward() const { return scalar<bool>(24, false); }
};

// Two tensors of one type and shape, compared or combined element by element.
struct Compare : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand a() const { return {"a", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand b() const { return {"b", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(8, 0)}; }
  Comparison comparison() const { return scalar<Comparison>(10, Comparison::EQUAL); }
};

// Elements of a where the condition (bool) holds, and of b elsewhere.
struct Where : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand condition() const { return {"condition", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand a() const { return {"a", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand b() const { return {"b", scalar<uint32_t>(8, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(10, 0)}; }
};

// Slices of a tensor, written over at the places that `indices` [count] (int64) give along `axis`.
struct Scatter : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand source() const { return {"source", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand indices() const { return {"indices", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(8, 0)}; }
  uint32_t axis() const { return scalar<uint32_t>(10, 0); }
  // Whether slices of float32 are added to what is there, in the order of the indices.
  bool adds() const { return scalar<bool>(12, false); }
};

// [n, h, w, c] resampled to another height and width.
struct Resize2d : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  Interpolation interpolation() const { return scalar<Interpolation>(8, Interpolation::NEAREST); }
  // Inputs for each output, down and across.
  float scale_h() const { return scalar<float>(10, 1.0f); }
  float scale_w() const { return scalar<float>(12, 1.0f); }
};

// An int8 convolution or GEMM with constant weights. The results are int8 or float32.
// 
// A result is the sum of products times multiplier (and the row's scale) plus offset.
struct Int8Gemm : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // Packed int8 matrices, one for each group.
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  // float32 by output channel.
  flatbuffer::Operand offset() const { return {"offset", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand residual() const { return {"residual", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  // Scales and zero points of the input's rows, [rows] or [1], where they are chosen while the plan runs.
  flatbuffer::Operand row_scale() const { return {"row_scale", scalar<uint32_t>(12, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand row_zero_point() const { return {"row_zero_point", scalar<uint32_t>(14, flatbuffer::kNoOperand)}; }
  // float32 by output channel.
  flatbuffer::Operand multiplier() const { return {"multiplier", scalar<uint32_t>(16, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(18, 0)}; }
  Window window() const { return table<Window>(20); }
  bool has_window() const { return field(20) != nullptr; }
  uint32_t groups() const { return scalar<uint32_t>(22, 1); }
  // Input channels of a group.
  uint32_t channels() const { return scalar<uint32_t>(24, 1); }
  // Output channels of a group.
  uint32_t outputs() const { return scalar<uint32_t>(26, 1); }
  Int8Packing packing() const { return table<Int8Packing>(28); }
  bool has_packing() const { return field(28) != nullptr; }
  int8_t input_zero_point() const { return scalar<int8_t>(30, 0); }
  // Of int8 results.
  Int8Range range() const { return table<Int8Range>(32); }
  bool has_range() const { return field(32) != nullptr; }
  // Of float32 results.
  Epilogue epilogue() const { return table<Epilogue>(34); }
  bool has_epilogue() const { return field(34) != nullptr; }
  // Of int8 results with a residual.
  Int8Sum sum() const { return table<Int8Sum>(36); }
  bool has_sum() const { return field(36) != nullptr; }
};

// A depthwise convolution over int8 with one filter for each channel. The input lies in the arena.
struct Int8DepthwiseConv2d : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // int8 [kernel h, kernel w, c].
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand offset() const { return {"offset", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand multiplier() const { return {"multiplier", scalar<uint32_t>(10, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(12, 0)}; }
  Window window() const { return table<Window>(14); }
  bool has_window() const { return field(14) != nullptr; }
  int8_t input_zero_point() const { return scalar<int8_t>(16, 0); }
  Int8Range range() const { return table<Int8Range>(18); }
  bool has_range() const { return field(18) != nullptr; }
};

// A grouped convolution over int8 with as many output as input channels in each group.
struct Int8GroupedConv2d : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // int8 [c, kernel h, kernel w, channels].
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand offset() const { return {"offset", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand multiplier() const { return {"multiplier", scalar<uint32_t>(10, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(12, 0)}; }
  Window window() const { return table<Window>(14); }
  bool has_window() const { return field(14) != nullptr; }
  // Channels of a group: 4, 8 or 16.
  uint32_t channels() const { return scalar<uint32_t>(16, 4); }
  int8_t input_zero_point() const { return scalar<int8_t>(18, 0); }
  Int8Range range() const { return table<Int8Range>(20); }
  bool has_range() const { return field(20) != nullptr; }
};

// A pooling of int8 [n, h, w, c]. factor: the input's scale over the output's. A maximum keeps both as they are.
struct Int8Pool2d : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  Pooling pooling() const { return table<Pooling>(8); }
  bool has_pooling() const { return field(8) != nullptr; }
  int8_t input_zero_point() const { return scalar<int8_t>(10, 0); }
  Int8Range range() const { return table<Int8Range>(12); }
  bool has_range() const { return field(12) != nullptr; }
  float factor() const { return scalar<float>(14, 1.0f); }
};

// The mean of int8 [a, r, c] over r. factor: the input's scale over the output's.
struct Int8Mean : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  int8_t input_zero_point() const { return scalar<int8_t>(8, 0); }
  Int8Range range() const { return table<Int8Range>(10); }
  bool has_range() const { return field(10) != nullptr; }
  float factor() const { return scalar<float>(12, 1.0f); }
};

// The sum of two int8 tensors, or their product.
// 
// Factors of a sum are the scales of a and b over the output's; a product has the scales' product in a_factor.
struct Int8Binary : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand a() const { return {"a", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand b() const { return {"b", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(8, 0)}; }
  bool multiplies() const { return scalar<bool>(10, false); }
  int8_t a_zero_point() const { return scalar<int8_t>(12, 0); }
  int8_t b_zero_point() const { return scalar<int8_t>(14, 0); }
  Int8Range range() const { return table<Int8Range>(16); }
  bool has_range() const { return field(16) != nullptr; }
  float a_factor() const { return scalar<float>(18, 0.0f); }
  float b_factor() const { return scalar<float>(20, 0.0f); }
};

// A function of one int8 or uint8 tensor: the entry of a table of 256 that the bits of each number are the index of.
struct Int8Lookup : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand entries() const { return {"entries", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(8, 0)}; }
};

// float32 becomes int8.
struct Quantize : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  float scale() const { return scalar<float>(8, 1.0f); }
  Int8Range range() const { return table<Int8Range>(10); }
  bool has_range() const { return field(10) != nullptr; }
};

// int8 becomes float32.
struct Dequantize : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  float scale() const { return scalar<float>(8, 1.0f); }
  int8_t zero_point() const { return scalar<int8_t>(10, 0); }
};

// Rows [rows, k] of float32 become int8, by scales and zero points that are chosen while the plan runs.
struct DynamicQuantize : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(6, 0)}; }
  // Scales and zero points of each row [rows], or of all rows [1].
  flatbuffer::Operand scale() const { return {"scale", scalar<uint32_t>(8, 0)}; }
  flatbuffer::Operand zero_point() const { return {"zero_point", scalar<uint32_t>(10, 0)}; }
  QuantizationChoice choice() const { return scalar<QuantizationChoice>(12, QuantizationChoice::ASYMMETRIC); }
  int8_t low() const { return scalar<int8_t>(14, -128); }
  int8_t high() const { return scalar<int8_t>(16, 127); }
  // The least scale.
  float epsilon() const { return scalar<float>(18, 0.0f); }
};

// A product of float32 rows with a matrix of 8- or 4-bit numbers in groups, each with a scale.
struct WeightOnlyGemm : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // int8 [n, k], or two numbers a byte.
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand residual() const { return {"residual", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  // [n, groups].
  flatbuffer::Operand weight_scale() const { return {"weight_scale", scalar<uint32_t>(12, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(14, 0)}; }
  uint32_t bits() const { return scalar<uint32_t>(16, 8); }
  uint32_t channels() const { return scalar<uint32_t>(18, 1); }
  uint32_t outputs() const { return scalar<uint32_t>(20, 1); }
  // Numbers of a group.
  uint32_t group() const { return scalar<uint32_t>(22, 1); }
  Epilogue epilogue() const { return table<Epilogue>(24); }
  bool has_epilogue() const { return field(24) != nullptr; }
};

// A Recurrent whose weights are 8- or 4-bit numbers in groups, each with a scale.
struct WeightOnlyRecurrent : flatbuffer::Table {
  using Table::Table;
  // [steps, batch, columns]; columns are the gates in blocks of units.
  flatbuffer::Operand projected() const { return {"projected", scalar<uint32_t>(4, 0)}; }
  // int8 [columns, hidden], or two numbers a byte.
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  // [columns, groups].
  flatbuffer::Operand weight_scale() const { return {"weight_scale", scalar<uint32_t>(10, 0)}; }
  // State and cell before the first step, [batch, hidden]; zeros if they are absent.
  flatbuffer::Operand first_state() const { return {"first_state", scalar<uint32_t>(12, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand first_cell() const { return {"first_cell", scalar<uint32_t>(14, flatbuffer::kNoOperand)}; }
  // [steps, batch, hidden].
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(16, 0)}; }
  // State and cell (none of a GRU) after the last step.
  flatbuffer::Operand last_state() const { return {"last_state", scalar<uint32_t>(18, 0)}; }
  flatbuffer::Operand last_cell() const { return {"last_cell", scalar<uint32_t>(20, flatbuffer::kNoOperand)}; }
  bool is_gru() const { return scalar<bool>(22, false); }
  uint32_t hidden() const { return scalar<uint32_t>(24, 1); }
  // Whether the last step comes first.
  bool is_backward() const { return scalar<bool>(26, false); }
  uint32_t bits() const { return scalar<uint32_t>(28, 8); }
  // Numbers of a group.
  uint32_t group() const { return scalar<uint32_t>(30, 1); }
};

// A product of int8 rows with a matrix of 4-bit numbers in groups, each with a scale.
struct Int4Gemm : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Operand input() const { return {"input", scalar<uint32_t>(4, 0)}; }
  // [n, k], two numbers a byte.
  flatbuffer::Operand weight() const { return {"weight", scalar<uint32_t>(6, 0)}; }
  flatbuffer::Operand bias() const { return {"bias", scalar<uint32_t>(8, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand residual() const { return {"residual", scalar<uint32_t>(10, flatbuffer::kNoOperand)}; }
  flatbuffer::Operand row_scale() const { return {"row_scale", scalar<uint32_t>(12, 0)}; }
  flatbuffer::Operand row_zero_point() const { return {"row_zero_point", scalar<uint32_t>(14, 0)}; }
  // [n, groups].
  flatbuffer::Operand weight_scale() const { return {"weight_scale", scalar<uint32_t>(16, 0)}; }
  // The sum of each column's numbers times their scales, [n].
  flatbuffer::Operand weight_sum() const { return {"weight_sum", scalar<uint32_t>(18, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(20, 0)}; }
  uint32_t channels() const { return scalar<uint32_t>(22, 1); }
  uint32_t outputs() const { return scalar<uint32_t>(24, 1); }
  // Numbers of a group.
  uint32_t group() const { return scalar<uint32_t>(26, 1); }
  Epilogue epilogue() const { return table<Epilogue>(28); }
  bool has_epilogue() const { return field(28) != nullptr; }
};

// Rows of a table of 8- or 4-bit numbers in groups, each with a scale, as float32.
struct QuantizedGather : flatbuffer::Table {
  using Table::Table;
  // int8 [rows, n], or two numbers a byte.
  flatbuffer::Operand table_of_rows() const { return {"table_of_rows", scalar<uint32_t>(4, 0)}; }
  flatbuffer::Operand indices() const { return {"indices", scalar<uint32_t>(6, 0)}; }
  // [rows, groups].
  flatbuffer::Operand table_scale() const { return {"table_scale", scalar<uint32_t>(8, 0)}; }
  flatbuffer::Operand output() const { return {"output", scalar<uint32_t>(10, 0)}; }
  uint32_t bits() const { return scalar<uint32_t>(12, 8); }
  uint32_t rows() const { return scalar<uint32_t>(14, 1); }
  uint32_t columns() const { return scalar<uint32_t>(16, 1); }
  // Numbers of a group.
  uint32_t group() const { return scalar<uint32_t>(18, 1); }
};

// One operation, in the order in which they run.
struct Step : flatbuffer::Table {
  using Table::Table;
  flatbuffer::Table operation() const { return table<flatbuffer::Table>(6); }
  Operation operation_type() const { return scalar<Operation>(4, Operation::NONE); }
  // The result is absent if operation_type() is another type.
  Gemm operation_as_Gemm() const { return Gemm(member(4, static_cast<uint8_t>(Operation::Gemm))); }
  BlockGemm operation_as_BlockGemm() const { return BlockGemm(member(4, static_cast<uint8_t>(Operation::BlockGemm))); }
  Winograd operation_as_Winograd() const { return Winograd(member(4, static_cast<uint8_t>(Operation::Winograd))); }
  DepthwiseConv2d operation_as_DepthwiseConv2d() const { return DepthwiseConv2d(member(4, static_cast<uint8_t>(Operation::DepthwiseConv2d))); }
  Bottleneck operation_as_Bottleneck() const { return Bottleneck(member(4, static_cast<uint8_t>(Operation::Bottleneck))); }
  Pool2d operation_as_Pool2d() const { return Pool2d(member(4, static_cast<uint8_t>(Operation::Pool2d))); }
  Elementwise operation_as_Elementwise() const { return Elementwise(member(4, static_cast<uint8_t>(Operation::Elementwise))); }
  Copy operation_as_Copy() const { return Copy(member(4, static_cast<uint8_t>(Operation::Copy))); }
  Convert operation_as_Convert() const { return Convert(member(4, static_cast<uint8_t>(Operation::Convert))); }
  Reduce operation_as_Reduce() const { return Reduce(member(4, static_cast<uint8_t>(Operation::Reduce))); }
  Softmax operation_as_Softmax() const { return Softmax(member(4, static_cast<uint8_t>(Operation::Softmax))); }
  Normalize operation_as_Normalize() const { return Normalize(member(4, static_cast<uint8_t>(Operation::Normalize))); }
  GroupNormStatistics operation_as_GroupNormStatistics() const { return GroupNormStatistics(member(4, static_cast<uint8_t>(Operation::GroupNormStatistics))); }
  Attention operation_as_Attention() const { return Attention(member(4, static_cast<uint8_t>(Operation::Attention))); }
  MatMul operation_as_MatMul() const { return MatMul(member(4, static_cast<uint8_t>(Operation::MatMul))); }
  Gather operation_as_Gather() const { return Gather(member(4, static_cast<uint8_t>(Operation::Gather))); }
  Recurrent operation_as_Recurrent() const { return Recurrent(member(4, static_cast<uint8_t>(Operation::Recurrent))); }
  Compare operation_as_Compare() const { return Compare(member(4, static_cast<uint8_t>(Operation::Compare))); }
  Where operation_as_Where() const { return Where(member(4, static_cast<uint8_t>(Operation::Where))); }
  Scatter operation_as_Scatter() const { return Scatter(member(4, static_cast<uint8_t>(Operation::Scatter))); }
  Resize2d operation_as_Resize2d() const { return Resize2d(member(4, static_cast<uint8_t>(Operation::Resize2d))); }
  Int8Gemm operation_as_Int8Gemm() const { return Int8Gemm(member(4, static_cast<uint8_t>(Operation::Int8Gemm))); }
  Int8DepthwiseConv2d operation_as_Int8DepthwiseConv2d() const { return Int8DepthwiseConv2d(member(4, static_cast<uint8_t>(Operation::Int8DepthwiseConv2d))); }
  Int8Pool2d operation_as_Int8Pool2d() const { return Int8Pool2d(member(4, static_cast<uint8_t>(Operation::Int8Pool2d))); }
  Int8Mean operation_as_Int8Mean() const { return Int8Mean(member(4, static_cast<uint8_t>(Operation::Int8Mean))); }
  Int8Binary operation_as_Int8Binary() const { return Int8Binary(member(4, static_cast<uint8_t>(Operation::Int8Binary))); }
  Int8Lookup operation_as_Int8Lookup() const { return Int8Lookup(member(4, static_cast<uint8_t>(Operation::Int8Lookup))); }
  Quantize operation_as_Quantize() const { return Quantize(member(4, static_cast<uint8_t>(Operation::Quantize))); }
  Dequantize operation_as_Dequantize() const { return Dequantize(member(4, static_cast<uint8_t>(Operation::Dequantize))); }
  DynamicQuantize operation_as_DynamicQuantize() const { return DynamicQuantize(member(4, static_cast<uint8_t>(Operation::DynamicQuantize))); }
  WeightOnlyGemm operation_as_WeightOnlyGemm() const { return WeightOnlyGemm(member(4, static_cast<uint8_t>(Operation::WeightOnlyGemm))); }
  Int4Gemm operation_as_Int4Gemm() const { return Int4Gemm(member(4, static_cast<uint8_t>(Operation::Int4Gemm))); }
  QuantizedGather operation_as_QuantizedGather() const { return QuantizedGather(member(4, static_cast<uint8_t>(Operation::QuantizedGather))); }
  GroupedConv2d operation_as_GroupedConv2d() const { return GroupedConv2d(member(4, static_cast<uint8_t>(Operation::GroupedConv2d))); }
  Take operation_as_Take() const { return Take(member(4, static_cast<uint8_t>(Operation::Take))); }
  CumulativeSum operation_as_CumulativeSum() const { return CumulativeSum(member(4, static_cast<uint8_t>(Operation::CumulativeSum))); }
  Int8GroupedConv2d operation_as_Int8GroupedConv2d() const { return Int8GroupedConv2d(member(4, static_cast<uint8_t>(Operation::Int8GroupedConv2d))); }
  WeightOnlyRecurrent operation_as_WeightOnlyRecurrent() const { return WeightOnlyRecurrent(member(4, static_cast<uint8_t>(Operation::WeightOnlyRecurrent))); }
  uint32_t debug_handle() const { return scalar<uint32_t>(8, 0); }
};

// A whole plan. vector_floats and panel_floats say how constants are packed: floats in a vector, columns of a panel.
struct Plan : flatbuffer::Table {
  using Table::Table;
  std::string_view target() const { return string(4); }
  bool has_target() const { return field(4) != nullptr; }
  uint32_t vector_floats() const { return scalar<uint32_t>(6, 0); }
  uint32_t panel_floats() const { return scalar<uint32_t>(8, 0); }
  flatbuffer::Vector<Expression> expressions() const { return vector<Expression>(10); }
  bool has_expressions() const { return field(10) != nullptr; }
  flatbuffer::Vector<Symbol> symbols() const { return vector<Symbol>(12); }
  bool has_symbols() const { return field(12) != nullptr; }
  flatbuffer::Vector<Storage> storages() const { return vector<Storage>(14); }
  bool has_storages() const { return field(14) != nullptr; }
  flatbuffer::Vector<Value> values() const { return vector<Value>(16); }
  bool has_values() const { return field(16) != nullptr; }
  flatbuffer::Vector<Argument> arguments() const { return vector<Argument>(18); }
  bool has_arguments() const { return field(18) != nullptr; }
  flatbuffer::Vector<Step> steps() const { return vector<Step>(20); }
  bool has_steps() const { return field(20) != nullptr; }
  uint64_t arena_bytes() const { return scalar<uint64_t>(22, 0); }
};

namespace descriptors {

inline constexpr flatbuffer::Field kExpression[] = {
  {"code", flatbuffer::Kind::Scalars, 8, false, 0},
};
inline constexpr flatbuffer::Field kSymbol[] = {
  {"argument", flatbuffer::Kind::Scalar, 4, false, 0},
  {"axis", flatbuffer::Kind::Scalar, 4, false, 0},
  {"factor", flatbuffer::Kind::Scalar, 8, false, 0},
  {"shift", flatbuffer::Kind::Scalar, 8, false, 0},
  {"lower", flatbuffer::Kind::Scalar, 8, false, 0},
  {"upper", flatbuffer::Kind::Scalar, 8, false, 0},
};
inline constexpr flatbuffer::Field kStorage[] = {
  {"kind", flatbuffer::Kind::Scalar, 1, false, 0},
  {"bytes", flatbuffer::Kind::Scalar, 8, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 8, false, 0},
  {"index", flatbuffer::Kind::Scalar, 4, false, 0},
  {"name", flatbuffer::Kind::String, 4, false, 0},
};
inline constexpr flatbuffer::Field kValue[] = {
  {"storage", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dtype", flatbuffer::Kind::Scalar, 1, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 4, false, 0},
  {"sizes", flatbuffer::Kind::Scalars, 4, false, 0},
  {"strides", flatbuffer::Kind::Scalars, 4, false, 0},
};
inline constexpr flatbuffer::Field kArgument[] = {
  {"value", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_output", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Field kWindow[] = {
  {"kernel_h", flatbuffer::Kind::Scalar, 4, false, 0},
  {"kernel_w", flatbuffer::Kind::Scalar, 4, false, 0},
  {"stride_h", flatbuffer::Kind::Scalar, 4, false, 0},
  {"stride_w", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pad_h", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pad_w", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dilation_h", flatbuffer::Kind::Scalar, 4, false, 0},
  {"dilation_w", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kWindowBounds[] = {
  {0, false, 1, 4096},
  {1, false, 1, 4096},
  {2, false, 1, 65536},
  {3, false, 1, 65536},
  {4, false, 0, 65536},
  {5, false, 0, 65536},
  {6, false, 1, 65536},
  {7, false, 1, 65536},
};
inline constexpr flatbuffer::Field kEpilogue[] = {
  {"low", flatbuffer::Kind::Scalar, 4, false, 0},
  {"high", flatbuffer::Kind::Scalar, 4, false, 0},
  {"function", flatbuffer::Kind::Scalar, 1, false, 0},
  {"p", flatbuffer::Kind::Scalar, 4, false, 0},
  {"q", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kEpilogueBounds[] = {
  {2, true, -1, 35},
};
inline constexpr flatbuffer::Field kPrologue[] = {
  {"low", flatbuffer::Kind::Scalar, 4, false, 0},
  {"high", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kInt8Range[] = {
  {"zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"low", flatbuffer::Kind::Scalar, 1, false, 0},
  {"high", flatbuffer::Kind::Scalar, 1, false, 0},
};
inline constexpr flatbuffer::Field kInt8Sum[] = {
  {"residual_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"output", flatbuffer::Kind::Table, 4, false, 8},
  {"factor", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual_factor", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kInt8Packing[] = {
  {"lanes", flatbuffer::Kind::Scalar, 4, false, 0},
  {"panel", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kInt8PackingBounds[] = {
  {0, false, 1, 256},
  {1, false, 1, 1024},
  {2, false, 1, 64},
};
inline constexpr flatbuffer::Field kPooling[] = {
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"is_maximum", flatbuffer::Kind::Bool, 1, false, 0},
  {"divisor", flatbuffer::Kind::Scalar, 4, false, 0},
  {"counts_padding", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Bounds kPoolingBounds[] = {
  {2, false, 0, 2147483647},
};
inline constexpr flatbuffer::Field kInstruction[] = {
  {"unary", flatbuffer::Kind::Scalar, 1, false, 0},
  {"binary", flatbuffer::Kind::Scalar, 1, false, 0},
  {"target", flatbuffer::Kind::Scalar, 1, false, 0},
  {"a", flatbuffer::Kind::Scalar, 1, false, 0},
  {"b", flatbuffer::Kind::Scalar, 1, false, 0},
  {"p", flatbuffer::Kind::Scalar, 4, false, 0},
  {"q", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kInstructionBounds[] = {
  {0, true, -1, 35},
  {1, true, -1, 7},
};
inline constexpr flatbuffer::Field kBottleneckConvolution[] = {
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
};
inline constexpr flatbuffer::Bounds kBottleneckConvolutionBounds[] = {
  {1, false, 1, 16777216},
  {2, false, 1, 16777216},
};
inline constexpr flatbuffer::Field kBottleneckDepthwise[] = {
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
};
inline constexpr flatbuffer::Field kGemm[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual", flatbuffer::Kind::Scalar, 4, false, 0},
  {"prologue_scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"prologue_shift", flatbuffer::Kind::Scalar, 4, false, 0},
  {"more_inputs", flatbuffer::Kind::Scalars, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"groups", flatbuffer::Kind::Scalar, 4, false, 0},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
  {"rounds_input", flatbuffer::Kind::Bool, 1, false, 0},
  {"prologue", flatbuffer::Kind::Table, 4, false, 7},
};
inline constexpr flatbuffer::Bounds kGemmBounds[] = {
  {9, false, 1, 1048576},
  {10, false, 1, 16777216},
  {11, false, 1, 16777216},
};
inline constexpr flatbuffer::OperandInfo kGemmOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"residual", 10, false, true, flatbuffer::Effect::Reads},
  {"prologue_scale", 12, false, true, flatbuffer::Effect::Reads},
  {"prologue_shift", 14, false, true, flatbuffer::Effect::Reads},
  {"more_inputs", 16, true, false, flatbuffer::Effect::Reads},
  {"output", 18, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kBlockGemm[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"blocks", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
};
inline constexpr flatbuffer::Bounds kBlockGemmBounds[] = {
  {5, false, 1, 16777216},
  {6, false, 1, 16777216},
  {7, false, 1, 16777216},
};
inline constexpr flatbuffer::OperandInfo kBlockGemmOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"residual", 10, false, true, flatbuffer::Effect::Reads},
  {"output", 12, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kWinograd[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual", flatbuffer::Kind::Scalar, 4, false, 0},
  {"more_inputs", flatbuffer::Kind::Scalars, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"m", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pad_h", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pad_w", flatbuffer::Kind::Scalar, 4, false, 0},
  {"stride", flatbuffer::Kind::Scalar, 4, false, 0},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
  {"transforms_weight", flatbuffer::Kind::Bool, 1, false, 0},
  {"groups", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kWinogradBounds[] = {
  {6, false, 2, 4},
  {7, false, 0, 2},
  {8, false, 0, 2},
  {9, false, 1, 2},
  {10, false, 1, 16777216},
  {11, false, 1, 16777216},
  {14, false, 1, 1048576},
};
inline constexpr flatbuffer::OperandInfo kWinogradOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"residual", 10, false, true, flatbuffer::Effect::Reads},
  {"more_inputs", 12, true, false, flatbuffer::Effect::Reads},
  {"output", 14, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kDepthwiseConv2d[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
};
inline constexpr flatbuffer::OperandInfo kDepthwiseConv2dOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"output", 10, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kGroupedConv2d[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"groups", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
};
inline constexpr flatbuffer::Bounds kGroupedConv2dBounds[] = {
  {5, false, 1, 1048576},
};
inline constexpr flatbuffer::OperandInfo kGroupedConv2dOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"output", 10, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kBottleneck[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"expand_weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"expand_bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"depthwise_weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"depthwise_bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"project_weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"project_bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"expand", flatbuffer::Kind::Table, 4, false, 13},
  {"depthwise", flatbuffer::Kind::Table, 4, false, 14},
  {"project", flatbuffer::Kind::Table, 4, false, 13},
};
inline constexpr flatbuffer::OperandInfo kBottleneckOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"expand_weight", 6, false, false, flatbuffer::Effect::Reads},
  {"expand_bias", 8, false, true, flatbuffer::Effect::Reads},
  {"depthwise_weight", 10, false, false, flatbuffer::Effect::Reads},
  {"depthwise_bias", 12, false, true, flatbuffer::Effect::Reads},
  {"project_weight", 14, false, true, flatbuffer::Effect::Reads},
  {"project_bias", 16, false, true, flatbuffer::Effect::Reads},
  {"residual", 18, false, true, flatbuffer::Effect::Reads},
  {"output", 20, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kPool2d[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pooling", flatbuffer::Kind::Table, 4, false, 11},
};
inline constexpr flatbuffer::OperandInfo kPool2dOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kElementwise[] = {
  {"inputs", flatbuffer::Kind::Scalars, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"registers", flatbuffer::Kind::Scalar, 4, false, 0},
  {"code", flatbuffer::Kind::Tables, 4, false, 12},
};
inline constexpr flatbuffer::Bounds kElementwiseBounds[] = {
  {2, false, 1, 24},
};
inline constexpr flatbuffer::OperandInfo kElementwiseOperands[] = {
  {"inputs", 4, true, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kCopy[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kCopyOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kConvert[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kConvertOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kReduce[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"reduction", flatbuffer::Kind::Scalar, 1, false, 0},
  {"kept", flatbuffer::Kind::Scalar, 4, false, 0},
  {"reduced", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kReduceBounds[] = {
  {2, true, 0, 3},
  {3, false, 0, 8},
  {4, false, 0, 8},
};
inline constexpr flatbuffer::OperandInfo kReduceOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kSoftmax[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_logarithm", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::OperandInfo kSoftmaxOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kNormalize[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"length", flatbuffer::Kind::Scalar, 4, false, 0},
  {"subtracts_mean", flatbuffer::Kind::Bool, 1, false, 0},
  {"epsilon", flatbuffer::Kind::Scalar, 4, false, 0},
  {"divides_by_norm", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Bounds kNormalizeBounds[] = {
  {4, false, 0, 2147483647},
};
inline constexpr flatbuffer::OperandInfo kNormalizeOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, true, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"output", 10, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kGroupNormStatistics[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"shift", flatbuffer::Kind::Scalar, 4, false, 0},
  {"groups", flatbuffer::Kind::Scalar, 4, false, 0},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epsilon", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kGroupNormStatisticsBounds[] = {
  {5, false, 1, 16777216},
  {6, false, 1, 16777216},
};
inline constexpr flatbuffer::OperandInfo kGroupNormStatisticsOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, true, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"scale", 10, false, false, flatbuffer::Effect::Writes},
  {"shift", 12, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kAttention[] = {
  {"query", flatbuffer::Kind::Scalar, 4, false, 0},
  {"key", flatbuffer::Kind::Scalar, 4, false, 0},
  {"value", flatbuffer::Kind::Scalar, 4, false, 0},
  {"mask", flatbuffer::Kind::Scalar, 4, false, 0},
  {"key_tail", flatbuffer::Kind::Scalar, 4, false, 0},
  {"value_tail", flatbuffer::Kind::Scalar, 4, false, 0},
  {"second_mask", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_causal", flatbuffer::Kind::Bool, 1, false, 0},
  {"may_be_empty", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::OperandInfo kAttentionOperands[] = {
  {"query", 4, false, false, flatbuffer::Effect::Reads},
  {"key", 6, false, false, flatbuffer::Effect::Reads},
  {"value", 8, false, false, flatbuffer::Effect::Reads},
  {"mask", 10, false, true, flatbuffer::Effect::Reads},
  {"key_tail", 12, false, true, flatbuffer::Effect::Reads},
  {"value_tail", 14, false, true, flatbuffer::Effect::Reads},
  {"second_mask", 16, false, true, flatbuffer::Effect::Reads},
  {"output", 18, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kMatMul[] = {
  {"a", flatbuffer::Kind::Scalar, 4, false, 0},
  {"b", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kMatMulOperands[] = {
  {"a", 4, false, false, flatbuffer::Effect::Reads},
  {"b", 6, false, false, flatbuffer::Effect::Reads},
  {"output", 8, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kGather[] = {
  {"table_of_rows", flatbuffer::Kind::Scalar, 4, false, 0},
  {"indices", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"wraps_negative", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::OperandInfo kGatherOperands[] = {
  {"table_of_rows", 4, false, false, flatbuffer::Effect::Reads},
  {"indices", 6, false, false, flatbuffer::Effect::Reads},
  {"output", 8, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kTake[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"indices", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"axis", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kTakeBounds[] = {
  {3, false, 0, 7},
};
inline constexpr flatbuffer::OperandInfo kTakeOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"indices", 6, false, false, flatbuffer::Effect::Reads},
  {"output", 8, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kCumulativeSum[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"axis", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kCumulativeSumBounds[] = {
  {2, false, 0, 7},
};
inline constexpr flatbuffer::OperandInfo kCumulativeSumOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kRecurrent[] = {
  {"projected", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"first_state", flatbuffer::Kind::Scalar, 4, false, 0},
  {"first_cell", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"last_state", flatbuffer::Kind::Scalar, 4, false, 0},
  {"last_cell", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_gru", flatbuffer::Kind::Bool, 1, false, 0},
  {"hidden", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_backward", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Bounds kRecurrentBounds[] = {
  {9, false, 1, 1048576},
};
inline constexpr flatbuffer::OperandInfo kRecurrentOperands[] = {
  {"projected", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"first_state", 10, false, true, flatbuffer::Effect::Reads},
  {"first_cell", 12, false, true, flatbuffer::Effect::Reads},
  {"output", 14, false, false, flatbuffer::Effect::Writes},
  {"last_state", 16, false, false, flatbuffer::Effect::Writes},
  {"last_cell", 18, false, true, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kCompare[] = {
  {"a", flatbuffer::Kind::Scalar, 4, false, 0},
  {"b", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"comparison", flatbuffer::Kind::Scalar, 1, false, 0},
};
inline constexpr flatbuffer::Bounds kCompareBounds[] = {
  {3, true, 0, 11},
};
inline constexpr flatbuffer::OperandInfo kCompareOperands[] = {
  {"a", 4, false, false, flatbuffer::Effect::Reads},
  {"b", 6, false, false, flatbuffer::Effect::Reads},
  {"output", 8, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kWhere[] = {
  {"condition", flatbuffer::Kind::Scalar, 4, false, 0},
  {"a", flatbuffer::Kind::Scalar, 4, false, 0},
  {"b", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kWhereOperands[] = {
  {"condition", 4, false, false, flatbuffer::Effect::Reads},
  {"a", 6, false, false, flatbuffer::Effect::Reads},
  {"b", 8, false, false, flatbuffer::Effect::Reads},
  {"output", 10, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kScatter[] = {
  {"source", flatbuffer::Kind::Scalar, 4, false, 0},
  {"indices", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"axis", flatbuffer::Kind::Scalar, 4, false, 0},
  {"adds", flatbuffer::Kind::Bool, 1, false, 0},
};
inline constexpr flatbuffer::Bounds kScatterBounds[] = {
  {3, false, 0, 7},
};
inline constexpr flatbuffer::OperandInfo kScatterOperands[] = {
  {"source", 4, false, false, flatbuffer::Effect::Reads},
  {"indices", 6, false, false, flatbuffer::Effect::Reads},
  {"output", 8, false, false, flatbuffer::Effect::Updates},
};
inline constexpr flatbuffer::Field kResize2d[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"interpolation", flatbuffer::Kind::Scalar, 1, false, 0},
  {"scale_h", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale_w", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kResize2dBounds[] = {
  {2, true, 0, 4},
};
inline constexpr flatbuffer::OperandInfo kResize2dOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt8Gemm[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual", flatbuffer::Kind::Scalar, 4, false, 0},
  {"row_scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"row_zero_point", flatbuffer::Kind::Scalar, 4, false, 0},
  {"multiplier", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"groups", flatbuffer::Kind::Scalar, 4, false, 0},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"packing", flatbuffer::Kind::Table, 4, false, 10},
  {"input_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"range", flatbuffer::Kind::Table, 4, false, 8},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
  {"sum", flatbuffer::Kind::Table, 4, false, 9},
};
inline constexpr flatbuffer::Bounds kInt8GemmBounds[] = {
  {9, false, 1, 1048576},
  {10, false, 1, 16777216},
  {11, false, 1, 16777216},
};
inline constexpr flatbuffer::OperandInfo kInt8GemmOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"offset", 8, false, true, flatbuffer::Effect::Reads},
  {"residual", 10, false, true, flatbuffer::Effect::Reads},
  {"row_scale", 12, false, true, flatbuffer::Effect::Reads},
  {"row_zero_point", 14, false, true, flatbuffer::Effect::Reads},
  {"multiplier", 16, false, false, flatbuffer::Effect::Reads},
  {"output", 18, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt8DepthwiseConv2d[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 4, false, 0},
  {"multiplier", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"input_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"range", flatbuffer::Kind::Table, 4, false, 8},
};
inline constexpr flatbuffer::OperandInfo kInt8DepthwiseConv2dOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"offset", 8, false, true, flatbuffer::Effect::Reads},
  {"multiplier", 10, false, false, flatbuffer::Effect::Reads},
  {"output", 12, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt8GroupedConv2d[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"offset", flatbuffer::Kind::Scalar, 4, false, 0},
  {"multiplier", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"window", flatbuffer::Kind::Table, 4, false, 5},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"range", flatbuffer::Kind::Table, 4, false, 8},
};
inline constexpr flatbuffer::Bounds kInt8GroupedConv2dBounds[] = {
  {6, false, 4, 16},
};
inline constexpr flatbuffer::OperandInfo kInt8GroupedConv2dOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"offset", 8, false, true, flatbuffer::Effect::Reads},
  {"multiplier", 10, false, false, flatbuffer::Effect::Reads},
  {"output", 12, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt8Pool2d[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"pooling", flatbuffer::Kind::Table, 4, false, 11},
  {"input_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"range", flatbuffer::Kind::Table, 4, false, 8},
  {"factor", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kInt8Pool2dOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt8Mean[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"input_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"range", flatbuffer::Kind::Table, 4, false, 8},
  {"factor", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kInt8MeanOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt8Binary[] = {
  {"a", flatbuffer::Kind::Scalar, 4, false, 0},
  {"b", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"multiplies", flatbuffer::Kind::Bool, 1, false, 0},
  {"a_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"b_zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
  {"range", flatbuffer::Kind::Table, 4, false, 8},
  {"a_factor", flatbuffer::Kind::Scalar, 4, false, 0},
  {"b_factor", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kInt8BinaryOperands[] = {
  {"a", 4, false, false, flatbuffer::Effect::Reads},
  {"b", 6, false, false, flatbuffer::Effect::Reads},
  {"output", 8, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt8Lookup[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"entries", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::OperandInfo kInt8LookupOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"entries", 6, false, false, flatbuffer::Effect::Reads},
  {"output", 8, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kQuantize[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"range", flatbuffer::Kind::Table, 4, false, 8},
};
inline constexpr flatbuffer::OperandInfo kQuantizeOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kDequantize[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"zero_point", flatbuffer::Kind::Scalar, 1, false, 0},
};
inline constexpr flatbuffer::OperandInfo kDequantizeOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kDynamicQuantize[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"zero_point", flatbuffer::Kind::Scalar, 4, false, 0},
  {"choice", flatbuffer::Kind::Scalar, 1, false, 0},
  {"low", flatbuffer::Kind::Scalar, 1, false, 0},
  {"high", flatbuffer::Kind::Scalar, 1, false, 0},
  {"epsilon", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kDynamicQuantizeBounds[] = {
  {4, true, 0, 3},
};
inline constexpr flatbuffer::OperandInfo kDynamicQuantizeOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"output", 6, false, false, flatbuffer::Effect::Writes},
  {"scale", 8, false, false, flatbuffer::Effect::Writes},
  {"zero_point", 10, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kWeightOnlyGemm[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight_scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bits", flatbuffer::Kind::Scalar, 4, false, 0},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
};
inline constexpr flatbuffer::Bounds kWeightOnlyGemmBounds[] = {
  {6, false, 4, 8},
  {7, false, 1, 16777216},
  {8, false, 1, 16777216},
  {9, false, 1, 16777216},
};
inline constexpr flatbuffer::OperandInfo kWeightOnlyGemmOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"residual", 10, false, true, flatbuffer::Effect::Reads},
  {"weight_scale", 12, false, false, flatbuffer::Effect::Reads},
  {"output", 14, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kWeightOnlyRecurrent[] = {
  {"projected", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight_scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"first_state", flatbuffer::Kind::Scalar, 4, false, 0},
  {"first_cell", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"last_state", flatbuffer::Kind::Scalar, 4, false, 0},
  {"last_cell", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_gru", flatbuffer::Kind::Bool, 1, false, 0},
  {"hidden", flatbuffer::Kind::Scalar, 4, false, 0},
  {"is_backward", flatbuffer::Kind::Bool, 1, false, 0},
  {"bits", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kWeightOnlyRecurrentBounds[] = {
  {10, false, 1, 1048576},
  {12, false, 4, 8},
  {13, false, 1, 1048576},
};
inline constexpr flatbuffer::OperandInfo kWeightOnlyRecurrentOperands[] = {
  {"projected", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"weight_scale", 10, false, false, flatbuffer::Effect::Reads},
  {"first_state", 12, false, true, flatbuffer::Effect::Reads},
  {"first_cell", 14, false, true, flatbuffer::Effect::Reads},
  {"output", 16, false, false, flatbuffer::Effect::Writes},
  {"last_state", 18, false, false, flatbuffer::Effect::Writes},
  {"last_cell", 20, false, true, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kInt4Gemm[] = {
  {"input", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bias", flatbuffer::Kind::Scalar, 4, false, 0},
  {"residual", flatbuffer::Kind::Scalar, 4, false, 0},
  {"row_scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"row_zero_point", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight_scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"weight_sum", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"channels", flatbuffer::Kind::Scalar, 4, false, 0},
  {"outputs", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group", flatbuffer::Kind::Scalar, 4, false, 0},
  {"epilogue", flatbuffer::Kind::Table, 4, false, 6},
};
inline constexpr flatbuffer::Bounds kInt4GemmBounds[] = {
  {9, false, 1, 16777216},
  {10, false, 1, 16777216},
  {11, false, 1, 16777216},
};
inline constexpr flatbuffer::OperandInfo kInt4GemmOperands[] = {
  {"input", 4, false, false, flatbuffer::Effect::Reads},
  {"weight", 6, false, false, flatbuffer::Effect::Reads},
  {"bias", 8, false, true, flatbuffer::Effect::Reads},
  {"residual", 10, false, true, flatbuffer::Effect::Reads},
  {"row_scale", 12, false, false, flatbuffer::Effect::Reads},
  {"row_zero_point", 14, false, false, flatbuffer::Effect::Reads},
  {"weight_scale", 16, false, false, flatbuffer::Effect::Reads},
  {"weight_sum", 18, false, false, flatbuffer::Effect::Reads},
  {"output", 20, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kQuantizedGather[] = {
  {"table_of_rows", flatbuffer::Kind::Scalar, 4, false, 0},
  {"indices", flatbuffer::Kind::Scalar, 4, false, 0},
  {"table_scale", flatbuffer::Kind::Scalar, 4, false, 0},
  {"output", flatbuffer::Kind::Scalar, 4, false, 0},
  {"bits", flatbuffer::Kind::Scalar, 4, false, 0},
  {"rows", flatbuffer::Kind::Scalar, 4, false, 0},
  {"columns", flatbuffer::Kind::Scalar, 4, false, 0},
  {"group", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Bounds kQuantizedGatherBounds[] = {
  {4, false, 4, 8},
  {5, false, 1, 2147483648},
  {6, false, 1, 16777216},
  {7, false, 1, 16777216},
};
inline constexpr flatbuffer::OperandInfo kQuantizedGatherOperands[] = {
  {"table_of_rows", 4, false, false, flatbuffer::Effect::Reads},
  {"indices", 6, false, false, flatbuffer::Effect::Reads},
  {"table_scale", 8, false, false, flatbuffer::Effect::Reads},
  {"output", 10, false, false, flatbuffer::Effect::Writes},
};
inline constexpr flatbuffer::Field kStep[] = {
  {"operation_type", flatbuffer::Kind::UnionTag, 1, true, 0},
  {"operation", flatbuffer::Kind::Union, 4, true, 0},
  {"debug_handle", flatbuffer::Kind::Scalar, 4, false, 0},
};
inline constexpr flatbuffer::Field kPlan[] = {
  {"target", flatbuffer::Kind::String, 4, false, 0},
  {"vector_floats", flatbuffer::Kind::Scalar, 4, false, 0},
  {"panel_floats", flatbuffer::Kind::Scalar, 4, false, 0},
  {"expressions", flatbuffer::Kind::Tables, 4, false, 0},
  {"symbols", flatbuffer::Kind::Tables, 4, false, 1},
  {"storages", flatbuffer::Kind::Tables, 4, false, 2},
  {"values", flatbuffer::Kind::Tables, 4, false, 3},
  {"arguments", flatbuffer::Kind::Tables, 4, false, 4},
  {"steps", flatbuffer::Kind::Tables, 4, false, 53},
  {"arena_bytes", flatbuffer::Kind::Scalar, 8, false, 0},
};

inline constexpr flatbuffer::TableInfo kTables[] = {
  {"Expression", kExpression, 1, nullptr, 0},
  {"Symbol", kSymbol, 6, nullptr, 0},
  {"Storage", kStorage, 5, nullptr, 0},
  {"Value", kValue, 5, nullptr, 0},
  {"Argument", kArgument, 2, nullptr, 0},
  {"Window", kWindow, 8, kWindowBounds, 8},
  {"Epilogue", kEpilogue, 5, kEpilogueBounds, 1},
  {"Prologue", kPrologue, 2, nullptr, 0},
  {"Int8Range", kInt8Range, 3, nullptr, 0},
  {"Int8Sum", kInt8Sum, 4, nullptr, 0},
  {"Int8Packing", kInt8Packing, 3, kInt8PackingBounds, 3},
  {"Pooling", kPooling, 4, kPoolingBounds, 1},
  {"Instruction", kInstruction, 7, kInstructionBounds, 2},
  {"BottleneckConvolution", kBottleneckConvolution, 4, kBottleneckConvolutionBounds, 2},
  {"BottleneckDepthwise", kBottleneckDepthwise, 2, nullptr, 0},
  {"Gemm", kGemm, 15, kGemmBounds, 3},
  {"BlockGemm", kBlockGemm, 9, kBlockGemmBounds, 3},
  {"Winograd", kWinograd, 15, kWinogradBounds, 7},
  {"DepthwiseConv2d", kDepthwiseConv2d, 6, nullptr, 0},
  {"GroupedConv2d", kGroupedConv2d, 7, kGroupedConv2dBounds, 1},
  {"Bottleneck", kBottleneck, 12, nullptr, 0},
  {"Pool2d", kPool2d, 3, nullptr, 0},
  {"Elementwise", kElementwise, 4, kElementwiseBounds, 1},
  {"Copy", kCopy, 2, nullptr, 0},
  {"Convert", kConvert, 2, nullptr, 0},
  {"Reduce", kReduce, 5, kReduceBounds, 3},
  {"Softmax", kSoftmax, 3, nullptr, 0},
  {"Normalize", kNormalize, 8, kNormalizeBounds, 1},
  {"GroupNormStatistics", kGroupNormStatistics, 8, kGroupNormStatisticsBounds, 2},
  {"Attention", kAttention, 11, nullptr, 0},
  {"MatMul", kMatMul, 3, nullptr, 0},
  {"Gather", kGather, 4, nullptr, 0},
  {"Take", kTake, 4, kTakeBounds, 1},
  {"CumulativeSum", kCumulativeSum, 3, kCumulativeSumBounds, 1},
  {"Recurrent", kRecurrent, 11, kRecurrentBounds, 1},
  {"Compare", kCompare, 4, kCompareBounds, 1},
  {"Where", kWhere, 4, nullptr, 0},
  {"Scatter", kScatter, 5, kScatterBounds, 1},
  {"Resize2d", kResize2d, 5, kResize2dBounds, 1},
  {"Int8Gemm", kInt8Gemm, 17, kInt8GemmBounds, 3},
  {"Int8DepthwiseConv2d", kInt8DepthwiseConv2d, 8, nullptr, 0},
  {"Int8GroupedConv2d", kInt8GroupedConv2d, 9, kInt8GroupedConv2dBounds, 1},
  {"Int8Pool2d", kInt8Pool2d, 6, nullptr, 0},
  {"Int8Mean", kInt8Mean, 5, nullptr, 0},
  {"Int8Binary", kInt8Binary, 9, nullptr, 0},
  {"Int8Lookup", kInt8Lookup, 3, nullptr, 0},
  {"Quantize", kQuantize, 4, nullptr, 0},
  {"Dequantize", kDequantize, 4, nullptr, 0},
  {"DynamicQuantize", kDynamicQuantize, 8, kDynamicQuantizeBounds, 1},
  {"WeightOnlyGemm", kWeightOnlyGemm, 11, kWeightOnlyGemmBounds, 4},
  {"WeightOnlyRecurrent", kWeightOnlyRecurrent, 14, kWeightOnlyRecurrentBounds, 3},
  {"Int4Gemm", kInt4Gemm, 13, kInt4GemmBounds, 3},
  {"QuantizedGather", kQuantizedGather, 8, kQuantizedGatherBounds, 4},
  {"Step", kStep, 3, nullptr, 0},
  {"Plan", kPlan, 10, nullptr, 0},
};

inline constexpr uint16_t kOperationMembers[] = {15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 34, 35, 36, 37, 38, 39, 40, 42, 43, 44, 45, 46, 47, 48, 49, 51, 52, 19, 32, 33, 41, 50};

inline constexpr flatbuffer::UnionInfo kUnions[] = {
  {"Operation", kOperationMembers, 38},
};

}  // namespace descriptors

// The name and the operands of each member of Operation, starting with tag 1.
inline constexpr flatbuffer::OperandList kOperationOperands[] = {
  {"Gemm", descriptors::kGemmOperands, 8},
  {"BlockGemm", descriptors::kBlockGemmOperands, 5},
  {"Winograd", descriptors::kWinogradOperands, 6},
  {"DepthwiseConv2d", descriptors::kDepthwiseConv2dOperands, 4},
  {"Bottleneck", descriptors::kBottleneckOperands, 9},
  {"Pool2d", descriptors::kPool2dOperands, 2},
  {"Elementwise", descriptors::kElementwiseOperands, 2},
  {"Copy", descriptors::kCopyOperands, 2},
  {"Convert", descriptors::kConvertOperands, 2},
  {"Reduce", descriptors::kReduceOperands, 2},
  {"Softmax", descriptors::kSoftmaxOperands, 2},
  {"Normalize", descriptors::kNormalizeOperands, 4},
  {"GroupNormStatistics", descriptors::kGroupNormStatisticsOperands, 5},
  {"Attention", descriptors::kAttentionOperands, 8},
  {"MatMul", descriptors::kMatMulOperands, 3},
  {"Gather", descriptors::kGatherOperands, 3},
  {"Recurrent", descriptors::kRecurrentOperands, 8},
  {"Compare", descriptors::kCompareOperands, 3},
  {"Where", descriptors::kWhereOperands, 4},
  {"Scatter", descriptors::kScatterOperands, 3},
  {"Resize2d", descriptors::kResize2dOperands, 2},
  {"Int8Gemm", descriptors::kInt8GemmOperands, 8},
  {"Int8DepthwiseConv2d", descriptors::kInt8DepthwiseConv2dOperands, 5},
  {"Int8Pool2d", descriptors::kInt8Pool2dOperands, 2},
  {"Int8Mean", descriptors::kInt8MeanOperands, 2},
  {"Int8Binary", descriptors::kInt8BinaryOperands, 3},
  {"Int8Lookup", descriptors::kInt8LookupOperands, 3},
  {"Quantize", descriptors::kQuantizeOperands, 2},
  {"Dequantize", descriptors::kDequantizeOperands, 2},
  {"DynamicQuantize", descriptors::kDynamicQuantizeOperands, 4},
  {"WeightOnlyGemm", descriptors::kWeightOnlyGemmOperands, 6},
  {"Int4Gemm", descriptors::kInt4GemmOperands, 9},
  {"QuantizedGather", descriptors::kQuantizedGatherOperands, 4},
  {"GroupedConv2d", descriptors::kGroupedConv2dOperands, 4},
  {"Take", descriptors::kTakeOperands, 3},
  {"CumulativeSum", descriptors::kCumulativeSumOperands, 2},
  {"Int8GroupedConv2d", descriptors::kInt8GroupedConv2dOperands, 5},
  {"WeightOnlyRecurrent", descriptors::kWeightOnlyRecurrentOperands, 9},
};

inline constexpr flatbuffer::Schema kPlanSchema = {descriptors::kTables, descriptors::kUnions, 54, 5, "RCP2"};

}  // namespace rushlight::cpu::schema
