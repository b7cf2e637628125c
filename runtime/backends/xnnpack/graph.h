// The graph of a payload as plain structs. read_graph() has validated it completely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backends/xnnpack/schema_generated.h"
#include "rushlight/core/data_loader.h"
#include "rushlight/core/error.h"
#include "rushlight/core/memory.h"
#include "rushlight/core/scalar_type.h"
#include "rushlight/core/span.h"

namespace rushlight::xnnpack {

using Kind = schema::XNodeUnion;

inline constexpr uint32_t kMaxRank = 6;
inline constexpr uint32_t kNone = UINT32_MAX;  // no value, no argument
inline constexpr int64_t kMaxElements = INT32_MAX;

inline constexpr uint32_t kTransposeWeights = 1;  // flag of fully connected nodes
inline constexpr uint32_t kAlignCorners = 8;      // flag of resize nodes
inline constexpr uint32_t kKeepDims = 0x40;       // flag of pooling nodes

struct Shape {
  uint32_t rank = 0;
  int64_t dims[kMaxRank] = {};

  int64_t operator[](uint32_t axis) const { return dims[axis]; }
  int64_t last() const { return dims[rank - 1]; }
  // Returns the number of elements. It is at most kMaxElements for shapes that passed check_shape().
  int64_t numel() const {
    int64_t product = 1;
    for (uint32_t i = 0; i < rank; ++i) product *= dims[i];
    return product;
  }
  bool operator==(const Shape& other) const {
    if (rank != other.rank) return false;
    for (uint32_t i = 0; i < rank; ++i) {
      if (dims[i] != other.dims[i]) return false;
    }
    return true;
  }
  bool operator!=(const Shape& other) const { return !(*this == other); }
};

// Returns InvalidProgram unless all dimensions are positive (or 0, if `may_be_empty`) and the shape has at most
// kMaxElements elements.
Error check_shape(const Shape& shape, bool may_be_empty = false);

// Quantization parameters: real = (number - zero) * scale.
struct Quantization {
  enum class By : uint8_t {
    None,
    Tensor,   // one scale and zero point
    Channel,  // a scale for each index of `axis`, zero point 0
    Group,    // a bfloat16 scale for each `group` numbers of a row of [channels, inputs], zero point 0
    Row,      // a scale and zero point per block of the last `group` dimensions, computed at run time
  };
  By by = By::None;
  int32_t zero = 0;
  float scale = 1;
  const void* scales = nullptr;  // by channel: float [channels]; by group: bfloat16 [channels, groups]
  uint32_t axis = 0;
  uint32_t group = 0;
};

// A tensor of the graph. Constants with a scale per channel or group may have 4-bit numbers: two numbers in a byte, the
// first in the low bits, each stored as number + 8. Each row begins with a new byte.
struct Value {
  ScalarType dtype = ScalarType::Float;
  Quantization quantization;
  bool is_int4 = false;
  Shape shape;                     // upper bounds for dynamic shapes
  uint32_t argument = kNone;       // index of the delegate's argument
  bool is_input = false;           // an input of the delegate
  bool is_output = false;          // an output of the delegate
  const void* constant = nullptr;  // null if the value is not constant
  std::string_view name;           // key of the constant's named data; valid only while steps are made
};

// The window of a convolution or a pooling in the payload. The padding may differ on opposite sides. Poolings do not
// use the fields of channels and adjustments.
struct PayloadWindow {
  uint32_t top = 0, right = 0, bottom = 0, left = 0;  // padding
  uint32_t height = 1, width = 1;
  uint32_t stride_height = 1, stride_width = 1;
  uint32_t dilation_height = 1, dilation_width = 1;
  uint32_t group_inputs = 1, group_outputs = 1,
           groups = 1;  // channels of a group, channels of a group, number of groups
  uint32_t adjustment_height = 0,
           adjustment_width = 0;  // rows and columns added to the output of a transposed convolution
};

struct Node {
  static constexpr uint32_t kResidual = 3;   // index of the residual input, which fuse() adds
  static constexpr uint32_t kMaxFolded = 3;  // at most an addition, a clamp and an activation

  Kind kind = Kind::NONE;
  uint32_t debug_handle = 0;
  uint32_t folded[kMaxFolded];  // debug handles of the nodes that fuse() folded into this node, in order
  uint32_t num_folded = 0;
  uint32_t flags = 0;
  bool has_bounds = false;  // results are clamped to [min, max]
  float min = 0, max = 0;
  uint32_t inputs[5] = {kNone, kNone, kNone, kNone, kNone};
  uint32_t num_inputs = 0;
  uint32_t output = kNone;
  PayloadWindow window;
  uint32_t rank = 0;          // length of `first` and `second`
  uint32_t first[kMaxRank];   // permutation, new shape, slice offsets or padding before
  uint32_t second[kMaxRank];  // slice sizes or padding after
  uint32_t axis = 0;
  uint32_t height = 0, width = 0;  // sizes of the resized image
  float number = 0;                // slope, alpha or padding value, of `activation` if it is set
  Kind activation = Kind::NONE;    // set by fuse(); applied after the clamp
};

inline bool is_quantized(const Value& value) { return value.quantization.by != Quantization::By::None; }

// The nodes and values of a payload. The graph owns the constants. Every node comes after the nodes that compute its
// inputs.
struct Graph {
  Span<Value> values;
  Span<Node> nodes;
  uint32_t num_arguments = 0;
  Span<FreeableBuffer> constants;

  ~Graph() {
    for (FreeableBuffer& constant : constants) constant.~FreeableBuffer();
  }
};

// Returns the name of a kind in the schema, such as "XNNConv2d".
const char* name_of(Kind kind);

}  // namespace rushlight::xnnpack
