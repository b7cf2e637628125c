// Gathers rows of a table.

#include "backends/cpu/image.h"
#include "backends/cpu/step.h"
#include "core/move_bytes.h"

namespace rushlight::cpu {

namespace {

class GatherStep final : public Step {
 public:
  Error bind(const schema::Gather& op, Binder& binder) {
    table_ = binder.stored_input(op.table_of_rows());
    indices_ = binder.any_input(op.indices());
    out_ = binder.output(op.output());
    wraps_negative_ = op.wraps_negative();
    return binder.error();
  }

  Error prepare() override {
    RL_REQUIRE(table_->rank == 2 && (table_->dtype == ScalarType::Float || is_f16(table_->dtype)) && out_->rank == 2 &&
                   indices_->rank == 1 && indices_->dtype == ScalarType::Long && out_->sizes[0] == indices_->sizes[0] &&
                   out_->sizes[1] == table_->sizes[1] &&
                   (out_->sizes[1] <= 1 || (out_->strides[1] == 1 && table_->strides[1] == 1)),
               InvalidProgram, "the shapes or strides of the operands of a gather do not match");
    return Error::Ok;
  }

  Error run(Run&) override {
    const int64_t* indices = static_cast<const int64_t*>(indices_->data);
    for (int64_t i = 0; i < indices_->sizes[0]; ++i) {
      const int64_t given = indices[i * indices_->strides[0]];
      const int64_t row = given < 0 && wraps_negative_ ? given + table_->sizes[0] : given;
      RL_REQUIRE(row >= 0 && row < table_->sizes[0], InvalidArgument, "index %lld is outside of a table of %lld rows",
                 static_cast<long long>(given), static_cast<long long>(table_->sizes[0]));
      float* const to = out_->floats() + i * out_->strides[0];
      const int64_t first = row * table_->strides[0];
      if (is_f16(table_->dtype)) {
        const uint16_t* const from = static_cast<const uint16_t*>(table_->data) + first;
        microkernels::f16_microkernels().widen(f16_type(table_->dtype), from, out_->sizes[1], to);
      } else {
        move_bytes(to, table_->floats() + first, static_cast<size_t>(out_->sizes[1]) * sizeof(float));
      }
    }
    return Error::Ok;
  }

  const char* name() const override { return "gather"; }

 private:
  const View* table_ = nullptr;
  const View* indices_ = nullptr;
  const View* out_ = nullptr;
  bool wraps_negative_ = false;
};

}  // namespace

Result<Step*> make_step(const schema::Gather& op, Binder& binder) { return binder.bind<GatherStep>(op); }

}  // namespace rushlight::cpu
