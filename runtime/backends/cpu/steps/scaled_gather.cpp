// Rows of a table of 8- or 4-bit numbers in groups, each with a scale.
#include "backends/cpu/image.h"
#include "backends/cpu/step.h"
#include "kernels/optimized/tiles/byte_tiles.h"

namespace rushlight::cpu {

namespace {

// values: int8 numbers [rows, n] or two a byte as in tiles::NibbleDots, indices [count] (int64), scales [rows, groups],
// output [count, n]. ints: bits (8 or 4), rows, n, numbers of a group.
class ScaledGatherStep final : public Step {
 public:
  Error bind(Binder& binder) {
    bits_ = binder.integer(0, 4, 8);
    rows_ = binder.integer(1, 1, int64_t{1} << 31);
    columns_ = binder.integer(2, 1, 1 << 24);
    group_ = binder.integer(3, 1, columns_);
    RL_TRY(binder.error());
    RL_REQUIRE((bits_ == 8 || (bits_ == 4 && group_ % 2 == 0)) && columns_ % group_ == 0, InvalidProgram,
               "a gather has %lld bits and groups of %lld numbers of %lld", static_cast<long long>(bits_),
               static_cast<long long>(group_), static_cast<long long>(columns_));
    numbers_ = reinterpret_cast<const uint8_t*>(binder.bytes(0, rows_ * row_bytes()));
    indices_ = binder.input_of(1, ScalarType::Long);
    scales_ = binder.constant(2, rows_ * groups());
    out_ = binder.output(3);
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(out_->rank == 2 && indices_->rank == 1 && out_->sizes[0] == indices_->sizes[0] &&
                   out_->sizes[1] == columns_ && (columns_ == 1 || out_->strides[1] == 1),
               InvalidProgram, "operands of a gather do not fit");
    return Error::Ok;
  }

  Error run(Run&) override {
    const tiles::ByteTiles& t = tiles::byte_tiles();
    const int64_t* const indices = static_cast<const int64_t*>(indices_->data);
    for (int64_t i = 0; i < indices_->sizes[0]; ++i) {
      const int64_t row = indices[i * indices_->strides[0]];
      RL_REQUIRE(row >= 0 && row < rows_, InvalidArgument, "index %lld is outside of a table of %lld rows",
                 static_cast<long long>(row), static_cast<long long>(rows_));
      const uint8_t* from = numbers_ + row * row_bytes();
      float* to = out_->floats() + i * out_->strides[0];
      for (int64_t g = 0; g < groups(); ++g, to += group_, from += group_ * bits_ / 8) {
        const float scale = scales_[row * groups() + g];
        bits_ == 4 ? t.dequantize_nibbles(from, group_, 0, scale, to)
                   : t.dequantize_bytes(from, 0, group_, 0, scale, to);
      }
    }
    return Error::Ok;
  }

  const char* name() const override { return bits_ == 4 ? "gather of 4-bit rows" : "gather of 8-bit rows"; }

 private:
  int64_t groups() const { return columns_ / group_; }
  int64_t row_bytes() const { return columns_ * bits_ / 8; }

  int64_t bits_ = 8, rows_ = 1, columns_ = 1, group_ = 1;
  const uint8_t* numbers_ = nullptr;
  const View* indices_ = nullptr;
  const float* scales_ = nullptr;
  const View* out_ = nullptr;
};

}  // namespace

Result<Step*> make_scaled_gather(Binder& binder) {
  ScaledGatherStep* step = binder.make<ScaledGatherStep>();
  if (step) RL_TRY(step->bind(binder));
  RL_TRY(binder.error());
  return static_cast<Step*>(step);
}

}  // namespace rushlight::cpu
