// Gathers rows of a table of int8 or int4 numbers with a scale for each group of numbers.
#include "backends/cpu/image.h"
#include "backends/cpu/step.h"
#include "microkernels/tables/int8.h"

namespace rushlight::cpu {

namespace {

class QuantizedGatherStep final : public Step {
 public:
  Error bind(const schema::QuantizedGather& op, Binder& binder) {
    bits_ = op.bits();
    rows_ = op.rows();
    columns_ = op.columns();
    group_ = op.group();
    RL_TRY(binder.error());
    RL_REQUIRE((bits_ == 8 || (bits_ == 4 && group_ % 2 == 0)) && columns_ % group_ == 0, InvalidProgram,
               "a gather has an unsupported table: numbers of %lld bits, groups of %lld numbers, rows of %lld numbers",
               static_cast<long long>(bits_), static_cast<long long>(group_), static_cast<long long>(columns_));
    numbers_ = reinterpret_cast<const uint8_t*>(binder.int8_constant(op.table_of_rows(), rows_ * row_bytes()));
    indices_ = binder.input_of(op.indices(), ScalarType::Long);
    scales_ = binder.constant(op.table_scale(), rows_ * groups());
    out_ = binder.output(op.output());
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(out_->rank == 2 && indices_->rank == 1 && out_->sizes[0] == indices_->sizes[0] &&
                   out_->sizes[1] == columns_ && (columns_ == 1 || out_->strides[1] == 1),
               InvalidProgram, "the shapes or strides of the operands of a gather do not match");
    return Error::Ok;
  }

  Error run(Run&) override {
    const microkernels::Int8Microkernels& t = microkernels::int8_microkernels();
    const int64_t* const indices = static_cast<const int64_t*>(indices_->data);
    for (int64_t i = 0; i < indices_->sizes[0]; ++i) {
      const int64_t row = indices[i * indices_->strides[0]];
      RL_REQUIRE(row >= 0 && row < rows_, InvalidArgument, "index %lld is outside of a table of %lld rows",
                 static_cast<long long>(row), static_cast<long long>(rows_));
      const uint8_t* from = numbers_ + row * row_bytes();
      float* to = out_->floats() + i * out_->strides[0];
      for (int64_t g = 0; g < groups(); ++g, to += group_, from += group_ * bits_ / 8) {
        const float scale = scales_[row * groups() + g];
        bits_ == 4 ? t.dequantize_int4(from, group_, 0, scale, to) : t.dequantize_int8(from, 0, group_, 0, scale, to);
      }
    }
    return Error::Ok;
  }

  const char* name() const override { return bits_ == 4 ? "gather of int4 rows" : "gather of int8 rows"; }

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

Result<Step*> make_step(const schema::QuantizedGather& op, Binder& binder) {
  return binder.bind<QuantizedGatherStep>(op);
}

}  // namespace rushlight::cpu
